//! A check of the properties that requests and keys name: a misspelt one is in no item, so a request by it finds nothing,
//! and a key of it is the same for all. Either would give wrong advice without an error.

use std::collections::BTreeMap;

use super::advise::AdviseArguments;
use crate::{advice::AdviceQuestion, propose::ItemProfile, sample::SampleItem};
use anyhow::bail;
use cosmos_model::partitioning::path::PropertyPath;

const RARE_DIVISOR: usize = 2;

const MAX_LISTED_PROPERTIES: usize = 8;

#[derive(Default)]
pub(crate) struct NamedProperties {
    named: BTreeMap<PropertyPath, NamedProperty>,
    n_items: usize,
}

struct NamedProperty {
    by: String,
    /// In the user's own input: measured traffic may name a property that is gone.
    is_written: bool,
    n_items: usize,
}

impl NamedProperties {
    /// Items may lack the properties that a request sets, so these are left out.
    pub(crate) fn new(question: &AdviceQuestion, arguments: &AdviseArguments) -> Self {
        let mut properties = Self::default();
        for request in &question.requests {
            let by = format!("the request \"{}\"", request.kind);
            let order = request.order_by.iter().map(|order| &order.path);
            let of_steps = request.writes.iter().flat_map(|step| step.filters.keys());
            let paths = request.filters.keys().chain(order).chain(of_steps);
            properties.add(paths, &by, arguments.requests.is_some());
        }
        for key in arguments.candidate.iter().chain(&question.current) {
            properties.add(key.paths(), &format!("the key {key}"), true);
        }
        properties.add(question.unique.iter().flat_map(|unique| &unique.0), "--unique", true);
        properties.add(&arguments.time, "--time", true);
        properties
    }

    fn add<'a>(
        &mut self,
        paths: impl IntoIterator<Item = &'a PropertyPath>,
        by: &str,
        is_written: bool,
    ) {
        for path in paths {
            let new = || NamedProperty { by: by.to_owned(), is_written, n_items: 0 };
            let named = self.named.entry(path.clone()).or_insert_with(new);
            if is_written && !named.is_written {
                *named = new();
            }
        }
    }

    pub(crate) fn count(&mut self, items: &[SampleItem]) {
        self.n_items += items.len();
        for (path, named) in &mut self.named {
            named.n_items += items.iter().filter(|item| path.find(&item.value).is_some()).count();
        }
    }

    /// Refuses a property that no item has, or of which most items have another notation.
    pub(crate) fn check(&self, profile: &ItemProfile) -> anyhow::Result<()> {
        for (path, named) in self.named.iter().filter(|(_, named)| named.is_written) {
            let NamedProperty { by, n_items, .. } = named;
            if *n_items == 0 {
                bail!("no item has {path}, which {by} names; {}", instead(path, profile));
            }
            let same = profile.paths.iter().find(|(other, seen)| {
                let is_twin = *other != path && notation(other) == notation(path);
                is_twin && seen.present * self.n_items > n_items * profile.items
            });
            if let Some((other, seen)) = same {
                bail!(
                    "{n_items} of {} items have {path}, which {by} names, and {} of {} have {other}: did you mean \
                     that?",
                    self.n_items,
                    seen.present,
                    profile.items
                );
            }
        }
        Ok(())
    }

    pub(crate) fn rare(&self) -> Option<String> {
        let is_rare = |named: &NamedProperty| named.n_items * RARE_DIVISOR < self.n_items;
        let rare = self.named.iter().filter(|(_, named)| is_rare(named));
        let rare = rare.map(|(path, NamedProperty { by, n_items, .. })| {
            format!("{path} {} % ({by})", n_items * 100 / self.n_items.max(1))
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
}

fn instead(path: &PropertyPath, profile: &ItemProfile) -> String {
    let mut paths: Vec<_> = profile.paths.iter().collect();
    let distance =
        |other: &PropertyPath| strsim::damerau_levenshtein(&notation(other), &notation(path));
    // One edit in four characters, or the same name within another object.
    let is_near = |other: &PropertyPath| {
        distance(other) <= notation(path).len().div_ceil(4)
            || other.names().last() == path.names().last()
    };
    let near = paths.iter().map(|(other, _)| *other).filter(|other| is_near(other));
    if let Some(near) = near.min_by_key(|other| distance(other)) {
        return format!("did you mean {near}?");
    }
    paths.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.present));
    let list = paths.iter().take(MAX_LISTED_PROPERTIES).map(|(path, _)| path.to_string());
    let more = if paths.len() > MAX_LISTED_PROPERTIES { ", …" } else { "" };
    format!("they have {}{more}", list.collect::<Vec<_>>().join(", "))
}

/// Returns a path in a common notation: `userID`, `user_id` and `user-id` are the same.
fn notation(path: &PropertyPath) -> String {
    let letters = path.to_string().to_lowercase();
    letters.chars().filter(|letter| !"_-\" ".contains(*letter)).collect()
}
