//! The keys that a filter visits.

use std::collections::HashSet;

use super::{KeyStrategy, Part, item::joined};
use crate::{
    filter::{Condition, Filter, Range},
    key::{Key, KeyValue},
    moment::moment,
    period::{Granularity, Periods},
};

/// The most keys that a [`Visit`] lists. A level that would take more counts as open: a client that sends
/// so many requests for one query does better to ask all partitions at once.
pub const MOST_KEYS: usize = 10_000;

/// The logical partitions that a query visits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visit {
    /// These, in the order of the filter's values and from the oldest period on. None when no item can
    /// match.
    Partitions(Vec<Key>),
    /// All whose hierarchical key begins with one of these.
    Prefixes(Vec<Key>),
    /// All of the container: the filter does not tell the first level.
    All,
}

impl KeyStrategy {
    /// Returns the logical partitions that hold all items which match `filter`.
    pub fn visit(&self, filter: &Filter) -> Visit {
        match &self.classed {
            Some(classed) => classed.visit(&self.levels, filter),
            None => visit(&self.levels, filter),
        }
    }
}

/// Returns the logical partitions that hold all items which match `filter` and have keys of these levels.
pub(super) fn visit(levels: &[Vec<Part>], filter: &Filter) -> Visit {
    let mut keys = vec![Key::default()];
    for (n_levels, level) in levels.iter().enumerate() {
        match values(level, filter, MOST_KEYS / keys.len().max(1)) {
            Some(values) => {
                keys = keys
                    .iter()
                    .flat_map(|key| values.iter().map(|value| key.with(value.clone())))
                    .collect();
            }
            None if n_levels == 0 => return Visit::All,
            None => return Visit::Prefixes(keys),
        }
    }
    Visit::Partitions(keys)
}

impl Visit {
    /// Returns the partitions of both.
    pub(super) fn or(self, other: Self) -> Self {
        // A key is a prefix of itself.
        let is_prefix = !matches!((&self, &other), (Self::Partitions(_), Self::Partitions(_)));
        let (Self::Partitions(mut keys) | Self::Prefixes(mut keys)) = self else {
            return Self::All;
        };
        let (Self::Partitions(others) | Self::Prefixes(others)) = other else { return Self::All };
        keys.extend(others);
        let keys = each_once(keys);
        if keys.len() > MOST_KEYS {
            Self::All
        } else if is_prefix {
            Self::Prefixes(keys)
        } else {
            Self::Partitions(keys)
        }
    }

    /// Returns true if `key` is one of the visited.
    pub fn visits(&self, key: &Key) -> bool {
        match self {
            Self::Partitions(keys) => keys.contains(key),
            Self::Prefixes(keys) => {
                keys.iter().any(|prefix| key.values().starts_with(prefix.values()))
            }
            Self::All => true,
        }
    }
}

/// Returns the values that the level of a matching item can have, or `None` when the level is open: when
/// they cannot be told, or are more than `most`.
fn values(level: &[Part], filter: &Filter, most: usize) -> Option<Vec<KeyValue>> {
    if let [Part::Value(path)] = level {
        let values = match filter.condition(path)? {
            Condition::Equals(value) => vec![value.clone()],
            Condition::OneOf(values) => each_once(values.iter().cloned()),
            Condition::Range(_) => return None,
        };
        return (values.len() <= most).then_some(values);
    }
    let texts: Vec<_> = level.iter().map(|part| part.texts(filter)).collect::<Option<_>>()?;
    let n_combinations =
        texts.iter().try_fold(1, |all: usize, texts: &Vec<_>| all.checked_mul(texts.len()))?;
    if n_combinations > most {
        return None;
    }
    let mut combinations = vec![Vec::new()];
    for texts in &texts {
        combinations = combinations
            .iter()
            .flat_map(|before| {
                texts.iter().map(move |text| {
                    let mut combination = before.clone();
                    combination.push(text.clone());
                    combination
                })
            })
            .collect();
    }
    Some(combinations.iter().map(|texts: &Vec<_>| joined(texts)).collect())
}

impl Part {
    /// Returns the texts that this part of a matching item's key can have, or `None` when they cannot
    /// be told. Of too many, one more than [`MOST_KEYS`] is enough to see that.
    fn texts(&self, filter: &Filter) -> Option<Vec<String>> {
        match (self, filter.condition(self.path())) {
            (_, Some(Condition::Equals(value))) => Some(vec![self.made_of(value)?]),
            (_, Some(Condition::OneOf(values))) => {
                let texts: Vec<_> =
                    values.iter().map(|value| self.made_of(value)).collect::<Option<_>>()?;
                Some(each_once(texts))
            }
            (Self::Period(_, granularity), Some(Condition::Range(range))) => {
                let periods = periods(*granularity, range)?.take(MOST_KEYS + 1);
                Some(periods.map(|period| period.to_string()).collect())
            }
            (Self::Bucket(_, buckets), _) => Some(buckets.names().take(MOST_KEYS + 1).collect()),
            (Self::Value(_) | Self::Period(..), _) => None,
        }
    }
}

/// Returns the periods of `range`, or `None` when a bound is missing or is no moment.
fn periods(granularity: Granularity, range: &Range) -> Option<Periods> {
    Some(granularity.periods(moment(range.from.as_ref()?)?..moment(range.to.as_ref()?)?))
}

fn each_once<T: Clone + Eq + std::hash::Hash>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    values.into_iter().filter(|value| seen.insert(value.clone())).collect()
}
