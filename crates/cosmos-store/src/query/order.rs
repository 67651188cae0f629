//! The order of a query, and where in it a page begins.

use std::cmp::Ordering;

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{
    Path, ResumeFilter,
    container::{self, Policy},
    continuation::Continuation,
};
use crate::{
    Refusal, Result,
    engine::{Definition, Item, rid_of},
    json::Json,
    sql::Prepared,
};

const NO_HASHES: &str = "This store cannot continue an ORDER BY behind an array or object, for which the SDK sends a \
                         hash. Exclude these values, for example by IS_PRIMITIVE, or read all results in one page.";

#[derive(Default)]
pub(super) struct Order {
    /// The paths of ORDER BY, and true for those in descending order.
    pub paths: Vec<(Path, bool)>,
    /// True for a computed property, which no index has.
    pub is_computed: bool,
    /// True for an order by a distance.
    pub is_by_distance: bool,
}

impl Order {
    /// Returns the order of a query, whose names have been resolved in `resolved`. Errors: 400 for an order that no
    /// index of the policy has.
    pub(super) fn new(
        query: &Prepared,
        resolved: &Prepared,
        definition: &Definition,
        policy: &Policy<'_>,
    ) -> Result<Self> {
        let tree = &query.query;
        if query.plan.is_grouped {
            return Ok(Self::default());
        }
        if container::is_by_distance(tree) {
            let directions = resolved.descending().into_iter();
            return Ok(Self {
                paths: directions.map(|descending| (Path::new(), descending)).collect(),
                is_by_distance: true,
                ..Self::default()
            });
        }
        let paths = container::order_paths(tree)?;
        let is_computed = paths.iter().any(|(path, _)| container::is_computed(path, definition));
        if !is_computed {
            policy.check_order(&paths)?;
        }
        Ok(Self { paths, is_computed, is_by_distance: false })
    }

    /// Compares the places of two items; without a number, those of their values.
    pub(super) fn compare(
        &self,
        one: (&[Option<Json>], u64),
        other: (&[Option<Json>], Option<u64>),
    ) -> Ordering {
        let direct = |n: usize, compared: Ordering| match self.paths.get(n) {
            Some((_, true)) => compared.reverse(),
            _ => compared,
        };
        let values = one.0.iter().zip(other.0).enumerate();
        let values = values.map(|(n, (one, other))| direct(n, one.cmp(other)));
        let rids = other.1.map_or(Ordering::Equal, |rid| direct(0, one.1.cmp(&rid)));
        values.fold(Ordering::Equal, Ordering::then).then(rids)
    }

    /// Returns true if the place of an item is before the begin of a page.
    pub(super) fn is_before(&self, from: Option<&Begin>, by: &[Option<Json>], item: &Item) -> bool {
        from.is_some_and(|from| {
            match self.compare((by, rid_of(&item.place)), (&from.order, from.rid)) {
                Ordering::Less => true,
                Ordering::Equal => !from.is_included,
                Ordering::Greater => false,
            }
        })
    }

    /// Returns where the page begins: where the one before has ended, or where an SDK says that it goes on. Errors:
    /// 400 if that has another number of values, 501 for an array or object.
    pub(super) fn begin(
        &self,
        start: &Continuation,
        resume: Option<&ResumeFilter>,
    ) -> Result<Option<Begin>> {
        let invalid = || Refusal::new(400, "Invalid Continuation Token");
        let from = if start.place.is_empty() {
            let Some(resume) = resume else { return Ok(None) };
            // An empty array stands for undefined, an object for the hash of an array or object.
            let value = |value: &Json| match value {
                Json::Array(values) if values.is_empty() => Ok(None),
                Json::Object(_) => Err(Refusal::new(501, NO_HASHES)),
                Json::Array(_) => Err(invalid()),
                value => Ok(Some(value.clone())),
            };
            let rid = resume.rid.as_ref().map(|rid| rid_number(rid).ok_or_else(invalid));
            Begin {
                order: resume.value.iter().map(value).collect::<Result<_, _>>()?,
                rid: rid.transpose()?,
                is_included: !resume.exclude,
            }
        } else {
            let value = |text: &Option<String>| {
                text.as_ref().map(|text| Json::parse(text.as_bytes())).transpose()
            };
            Begin {
                order: start.order.iter().map(value).collect::<Result<_, _>>()?,
                rid: Some(rid_of(&start.place)),
                is_included: start.n_rows.is_some(),
            }
        };
        if from.order.len() != self.paths.len() {
            return Err(invalid());
        }
        Ok(Some(from))
    }
}

/// Where an ordered query goes on.
pub(super) struct Begin {
    pub order: Vec<Option<Json>>,
    /// The number of the last item; `None` for all with these values.
    pub rid: Option<u64>,
    /// True if that item, or those items, still belong to the page.
    pub is_included: bool,
}

/// Returns the number in the `_rid` of an item.
fn rid_number(rid: &str) -> Option<u64> {
    let bytes = BASE64_STANDARD.decode(rid.replace('-', "/")).ok()?;
    bytes.last_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
