//! A check of the properties that requests and keys name against those of the items.
//!
//! A misspelt property is in no item: a request by it finds nothing, and a key of it is the same for all
//! items. Either would give wrong advice without an error.

use std::collections::BTreeMap;

use anyhow::bail;
use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};
use tributary_partition::{RequestKind, propose::ItemProfile, sample::SampleItem};

/// The share of the items below which a property is rare.
const MIN_USUAL_SHARE: f64 = 0.5;

/// Properties that a message lists.
const MAX_LISTED_PROPERTIES: usize = 8;

/// The named properties, and the numbers of items that have them.
pub(crate) struct NamedProperties {
    profile: ItemProfile,
    named: BTreeMap<PropertyPath, NameOrigin>,
    /// The items of the whole sample with a property that the profile lacks.
    counted: BTreeMap<PropertyPath, usize>,
    /// Items of the whole sample.
    n_items: usize,
}

/// The origin of a name.
struct NameOrigin {
    by: String,
    /// True for a name in the user's own input. Measured traffic may name a property that no item has any
    /// more.
    is_written: bool,
}

impl NamedProperties {
    /// Creates the check from a part of the sample.
    pub(crate) fn new(part: &[SampleItem]) -> Self {
        let mut profile = ItemProfile::default();
        for item in part {
            profile.add(&item.value);
        }
        Self { profile, named: BTreeMap::new(), counted: BTreeMap::new(), n_items: 0 }
    }

    /// Adds the properties by which a request finds or sorts items. Items may lack the properties that it sets.
    pub(crate) fn name_in_request(&mut self, request: &RequestKind, is_written: bool) {
        let by = format!("the request \"{}\"", request.kind);
        let order = request.order_by.as_ref().map(|order| &order.path);
        let of_steps = request.writes.iter().flat_map(|step| step.filters.iter());
        let paths = request.filters.keys().chain(order).chain(of_steps.map(|(path, _)| path));
        for path in paths {
            self.add_name(path, &by, is_written);
        }
    }

    /// Adds the properties of a key.
    pub(crate) fn name_in_key(&mut self, key: &KeyStrategy) {
        let by = format!("the key {key}");
        for part in key.levels().iter().flatten() {
            self.name(part.path(), &by);
        }
    }

    /// Adds a property.
    pub(crate) fn name(&mut self, path: &PropertyPath, by: &str) {
        self.add_name(path, by, true);
    }

    fn add_name(&mut self, path: &PropertyPath, by: &str, is_written: bool) {
        let named = self.named.entry(path.clone());
        let named = named.or_insert_with(|| NameOrigin { by: by.to_owned(), is_written });
        if is_written && !named.is_written {
            *named = NameOrigin { by: by.to_owned(), is_written };
        }
        if self.in_part(path) == 0 {
            self.counted.entry(path.clone()).or_default();
        }
    }

    /// Counts the properties that the part of the sample does not have.
    pub(crate) fn add(&mut self, items: &[SampleItem]) {
        self.n_items += items.len();
        for (path, n) in &mut self.counted {
            *n += items.iter().filter(|item| path.find(&item.value).is_some()).count();
        }
    }

    /// Refuses a property that no item has, or that only differs in its notation from one that most items
    /// have.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for (path, NameOrigin { by, .. }) in self.named.iter().filter(|(_, named)| named.is_written)
        {
            if self.counted.get(path) == Some(&0) {
                bail!("no item has {path}, which {by} names; {}", self.instead(path));
            }
            let same = self.profile.paths().find(|(other, seen)| {
                *other != path
                    && notation(other) == notation(path)
                    && seen.present > self.in_part(path)
            });
            if let Some((other, seen)) = same {
                bail!(
                    "{} of {} items have {path}, which {by} names, and {} have {other}: did you mean that?",
                    self.in_part(path),
                    self.profile.items(),
                    seen.present
                );
            }
        }
        Ok(())
    }

    /// Returns a sentence about the properties that only some of the items have.
    pub(crate) fn rare(&self) -> Option<String> {
        let rare = self.named.iter().filter_map(|(path, NameOrigin { by, .. })| {
            let share = match self.counted.get(path) {
                Some(n) => as_share(*n, self.n_items),
                None => as_share(self.in_part(path), self.profile.items()),
            };
            (share < MIN_USUAL_SHARE).then(|| format!("{path} {:.0} % ({by})", share * 100.0))
        });
        let rare: Vec<_> = rare.take(MAX_LISTED_PROPERTIES).collect();
        (!rare.is_empty()).then(|| {
            format!(
                "Only some of the items have these properties: {}. A request by one of them finds none of the \
                 others, and a key of one puts the others into one logical partition.",
                rare.join(", ")
            )
        })
    }

    fn in_part(&self, path: &PropertyPath) -> usize {
        self.profile.path(path).map_or(0, |seen| seen.present)
    }

    /// Returns a suggestion for a path that no item has.
    fn instead(&self, path: &PropertyPath) -> String {
        let mut paths: Vec<&PropertyPath> = self.profile.paths().map(|(path, _)| path).collect();
        let distance =
            |other: &PropertyPath| strsim::damerau_levenshtein(&notation(other), &notation(path));
        // One edit in four characters, or the same name within another object.
        let is_near = |other: &PropertyPath| {
            distance(other) <= notation(path).len().div_ceil(4)
                || other.names().last() == path.names().last()
        };
        if let Some(near) =
            paths.iter().filter(|path| is_near(path)).min_by_key(|path| distance(path))
        {
            return format!("did you mean {near}?");
        }
        paths.sort_by_key(|path| std::cmp::Reverse(self.in_part(path)));
        let list: Vec<_> =
            paths.iter().take(MAX_LISTED_PROPERTIES).map(ToString::to_string).collect();
        let more = if paths.len() > MAX_LISTED_PROPERTIES { ", …" } else { "" };
        format!("they have {}{more}", list.join(", "))
    }
}

/// Returns a path in a common notation: `userID`, `user_id` and `user-id` are the same.
fn notation(path: &PropertyPath) -> String {
    let letters = path.to_string().to_lowercase();
    letters.chars().filter(|letter| !"_-\" ".contains(*letter)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
fn as_share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
