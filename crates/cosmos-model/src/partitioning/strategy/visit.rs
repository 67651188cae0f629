//! The keys that a filter visits.

use std::collections::HashSet;

use super::{KeyPart, KeyStrategy, joined};
use crate::partitioning::{
    buckets::names,
    filter::{Filter, FilterCondition, ValueRange},
    key::{Key, KeyValue},
    moment::moment,
    period::{Granularity, Periods},
};

/// The most keys that a [`FilterVisit`] lists. A level with more counts as open: one request to all partitions
/// costs a client less.
pub const MAX_VISITED_KEYS: usize = 10_000;

/// The logical partitions that a query visits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterVisit {
    /// The partitions with these keys, in the order of the filter's values and from the oldest period on. Empty
    /// when no item can match.
    Partitions(Vec<Key>),
    /// All partitions with a hierarchical key that begins with one of these.
    Prefixes(Vec<Key>),
    /// All partitions of the container: the filter does not name the first level.
    All,
}

impl KeyStrategy {
    /// Returns the logical partitions that hold all items which match `filter`.
    pub fn visit(&self, filter: &Filter) -> FilterVisit {
        let mut keys = vec![Key::default()];
        for (n_levels, level) in self.0.iter().enumerate() {
            match values(level, filter, MAX_VISITED_KEYS / keys.len().max(1)) {
                Some(values) => keys = each_with_each(&keys, &values, Key::with),
                None if n_levels == 0 => return FilterVisit::All,
                None => return FilterVisit::Prefixes(keys),
            }
        }
        FilterVisit::Partitions(keys)
    }
}

/// Returns the values that the level of a matching item can have, or `None` when the level is open: they are
/// unknown, or more than `most`.
fn values(level: &[KeyPart], filter: &Filter, most: usize) -> Option<Vec<KeyValue>> {
    if let [KeyPart::Value(path)] = level {
        let values = match filter.get(path)? {
            FilterCondition::Equals(value) => vec![value.clone()],
            FilterCondition::OneOf(values) => each_once(values.iter().cloned()),
            FilterCondition::Range(_) => return None,
        };
        return (values.len() <= most).then_some(values);
    }
    let texts: Vec<_> = level.iter().map(|part| part.texts(filter)).collect::<Option<_>>()?;
    let n_combinations =
        texts.iter().try_fold(1, |all: usize, texts: &Vec<_>| all.checked_mul(texts.len()))?;
    if n_combinations > most {
        return None;
    }
    let with = |before: &Vec<_>, text| [before.as_slice(), &[text]].concat();
    let combinations =
        texts.iter().fold(vec![Vec::new()], |before, texts| each_with_each(&before, texts, with));
    Some(combinations.iter().map(|texts| joined(texts)).collect())
}

fn each_with_each<A, B: Clone>(starts: &[A], ends: &[B], with: impl Fn(&A, B) -> A) -> Vec<A> {
    starts.iter().flat_map(|start| ends.iter().map(|end| with(start, end.clone()))).collect()
}

impl KeyPart {
    /// Returns the texts that this part of a matching item's key can have, or `None` when they are unknown. Too
    /// many end at one more than [`MAX_VISITED_KEYS`].
    fn texts(&self, filter: &Filter) -> Option<Vec<String>> {
        match (self, filter.get(self.path())) {
            (_, Some(FilterCondition::Equals(value))) => Some(vec![self.made_of(value)?]),
            (_, Some(FilterCondition::OneOf(values))) => {
                let texts: Vec<_> =
                    values.iter().map(|value| self.made_of(value)).collect::<Option<_>>()?;
                Some(each_once(texts))
            }
            (Self::Period(_, granularity), Some(FilterCondition::Range(range))) => {
                let periods = periods(*granularity, range)?.take(MAX_VISITED_KEYS + 1);
                Some(periods.map(|period| period.to_string()).collect())
            }
            (Self::Bucket(_, n_buckets), _) => {
                Some(names(*n_buckets).take(MAX_VISITED_KEYS + 1).collect())
            }
            (Self::Value(_) | Self::Period(..), _) => None,
        }
    }
}

/// Returns the periods of `range`, or `None` when a bound is missing or is no moment.
fn periods(granularity: Granularity, range: &ValueRange) -> Option<Periods> {
    Some(granularity.periods(moment(range.from.as_ref()?)?..moment(range.to.as_ref()?)?))
}

fn each_once<T: Clone + Eq + std::hash::Hash>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    values.into_iter().filter(|value| seen.insert(value.clone())).collect()
}
