//! Strategies as data: the parts of the key of an item. The [crate] has the notation.
//!
//! [`KeyStrategy::key`] returns the key of an item, and [`KeyStrategy::visit`] the keys that a filter visits. They agree:
//!
//! 1. A part of an item's key depends on one property alone, by the same function on both sides.
//! 2. For each part, a condition gives all values that the part of a matching item can have, or the part
//!    is open. A bucket has a known number of values, so it is never open.
//! 3. The values of a joined level are all combinations. With an open part the level is open.
//! 4. The levels before the first open level give prefixes of keys. So the filter visits the key of each
//!    matching item.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::partitioning::{
    buckets::bucket,
    key::{Key, KeyValue},
    moment::moment,
    parts,
    path::{ParsePathError, PropertyPath},
    period::Granularity,
};

mod notation;
#[cfg(test)]
mod tests;
mod visit;

pub use visit::{FilterVisit, MAX_VISITED_KEYS};

/// The levels of a hierarchical partition key: a limit of the service.
pub const MAX_KEY_LEVELS: usize = 3;

/// A partition-key strategy. The [crate] has the notation.
///
/// In JSON it is its notation as a string.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyStrategy(Vec<Vec<KeyPart>>);

/// A part of the key of a level, computed from one property.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyPart {
    /// The value itself: an entity's id, a category, a tenant.
    Value(PropertyPath),
    /// The period of UTC that holds the moment.
    Period(PropertyPath, Granularity),
    /// The bucket of the value.
    Bucket(PropertyPath, NonZeroU32),
}

/// The error of an impossible strategy, or of its notation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StrategyError {
    /// The number of levels, which are too many or none.
    #[error("a strategy has 1 to {MAX_KEY_LEVELS} levels, separated by commas: this has {0}")]
    Levels(usize),
    /// A level without a part.
    #[error("a level of a strategy has at least one part, such as /tenantId")]
    NoParts,
    /// A text where a path is expected.
    #[error(transparent)]
    Path(#[from] ParsePathError),
    /// Words after a path that this notation does not have.
    #[error(
        "`{0}` says nothing about a key: write `by day`, `by week`, `by month`, `by quarter`, `by year` or `in 10 buckets`"
    )]
    Words(String),
}

/// The error of an item without a key.
///
/// A level of one value alone has a key for items that lack the property, too: [`KeyValue::Undefined`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The item does not have the property.
    #[error("{0} is missing, and the key is made of it")]
    Missing(PropertyPath),
    /// The property is `null`.
    #[error("{0} is null, and the key is made of it")]
    Null(PropertyPath),
    /// The property is an object or an array.
    #[error("{0} is an object or an array: name a property within it")]
    NotScalar(PropertyPath),
    /// The property holds no moment.
    #[error("{0} is no time: write it as RFC 3339, such as 2026-11-22T19:30:00Z, or as a date")]
    NotATime(PropertyPath),
}

impl KeyStrategy {
    /// Returns the strategy of these levels, each with its parts.
    pub fn new(levels: Vec<Vec<KeyPart>>) -> Result<Self, StrategyError> {
        if levels.is_empty() || levels.len() > MAX_KEY_LEVELS {
            return Err(StrategyError::Levels(levels.len()));
        }
        if levels.iter().any(Vec::is_empty) {
            return Err(StrategyError::NoParts);
        }
        Ok(Self(levels))
    }

    /// Returns the levels, each with its parts.
    pub fn levels(&self) -> &[Vec<KeyPart>] {
        &self.0
    }

    /// Returns the key of `item`.
    pub fn key(&self, item: &Value) -> Result<Key, KeyError> {
        let of_level = |level: &Vec<KeyPart>| match level.as_slice() {
            [KeyPart::Value(path)] => value(path, item),
            parts => {
                let texts: Result<Vec<_>, _> = parts.iter().map(|part| text(part, item)).collect();
                Ok(joined(&texts?))
            }
        };
        self.0.iter().map(of_level).collect()
    }

    /// Returns the parts of all levels.
    pub fn parts(&self) -> impl Iterator<Item = &KeyPart> {
        self.0.iter().flatten()
    }

    /// Returns true where a level is more than one value of the item: the app computes and stores it.
    pub fn is_computed(&self) -> bool {
        self.0.iter().any(|level| !matches!(level[..], [KeyPart::Value(_)]))
    }

    /// Returns the paths of all properties that the key depends on.
    pub fn paths(&self) -> impl Iterator<Item = &PropertyPath> {
        self.parts().map(KeyPart::path)
    }
}

impl KeyPart {
    /// Returns the path of the property of this part.
    pub fn path(&self) -> &PropertyPath {
        match self {
            Self::Value(path) | Self::Period(path, _) | Self::Bucket(path, _) => path,
        }
    }

    /// Returns the text of this part for `value`, or `None` where there is none.
    fn made_of(&self, value: &KeyValue) -> Option<String> {
        match self {
            Self::Value(_) => value.text(),
            Self::Period(_, granularity) => Some(granularity.period(moment(value)?).to_string()),
            Self::Bucket(_, n_buckets) => Some(bucket(&value.text()?, *n_buckets)),
        }
    }
}

/// Returns the value of a level of several parts, or of one that is not a value itself.
fn joined(texts: &[String]) -> KeyValue {
    KeyValue::Text(parts::join(texts.iter().map(String::as_str)))
}

fn value(path: &PropertyPath, item: &Value) -> Result<KeyValue, KeyError> {
    KeyValue::from_property(path.find(item)).ok_or_else(|| KeyError::NotScalar(path.clone()))
}

fn text(part: &KeyPart, item: &Value) -> Result<String, KeyError> {
    let path = part.path();
    match value(path, item)? {
        KeyValue::Undefined => Err(KeyError::Missing(path.clone())),
        KeyValue::Null => Err(KeyError::Null(path.clone())),
        // Numbers and texts have a text, so a period without a time is the only reason.
        value => part.made_of(&value).ok_or_else(|| KeyError::NotATime(path.clone())),
    }
}
