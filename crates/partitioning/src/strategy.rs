//! Strategies as data: what the key of an item is made of.
//!
//! A strategy has one to three levels, as a container has paths of its partition key. The key of a level
//! is a value itself, a period, a bucket, or several of these joined. The [crate] has the notation.
//!
//! [`KeyStrategy::key`] returns the key of an item, and [`KeyStrategy::visit`] the keys that a filter
//! visits. The two agree:
//!
//! 1. A part of an item's key depends on one property alone, by the same function on both sides.
//! 2. For each part, a condition gives all values that the part of a matching item can have, or
//!    none can be given. A bucket has a known number of values, so they can always be given.
//! 3. The values of a joined level are all combinations, and only when each part has values.
//!    Otherwise the level is open.
//! 4. The levels before the first open level give prefixes of keys. So each matching item has a key
//!    that is visited.
//!
//! A strategy may have a [class](Classes) of values whose periods are shorter or longer.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    buckets::Buckets,
    path::{ParsePathError, Path},
    period::Granularity,
};

mod classes;
mod item;
mod notation;
#[cfg(test)]
mod tests;
mod visit;

pub use classes::{Classes, Since};
pub use item::KeyError;
pub use visit::{MOST_KEYS, Visit};

/// The most levels of a hierarchical partition key, a limit of the service.
pub const MOST_LEVELS: usize = 3;

/// A partition-key strategy. The [crate] has the notation.
///
/// In JSON it is its notation as a string.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyStrategy {
    levels: Vec<Vec<Part>>,
    classed: Option<Box<classes::Classed>>,
}

/// A part of the key of a level, made of one property.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The value itself: an entity's id, a category, a tenant.
    Value(Path),
    /// The period of UTC that holds the moment.
    Period(Path, Granularity),
    /// The bucket of the value.
    Bucket(Path, Buckets),
}

/// The error of a strategy that cannot be one, or of its notation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StrategyError {
    /// Too many levels, or none: this many.
    #[error("a strategy has 1 to {MOST_LEVELS} levels, separated by commas: this has {0}")]
    Levels(usize),
    /// A level without a part.
    #[error("a level of a strategy has at least one part, such as /tenantId")]
    NoParts,
    /// A text where a path is expected.
    #[error(transparent)]
    Path(#[from] ParsePathError),
    /// A class of a strategy that has no period, or several.
    #[error(
        "a class says how long a period is: the key must have exactly one, such as /date by month"
    )]
    Classes,
    /// Words after a path that this notation does not have.
    #[error(
        "`{0}` says nothing about a key: write `by day`, `by week`, `by month`, `by quarter`, `by year` or `in 10 buckets`, and for a class `; by day where /deviceId is a or b since 2026-10-01`"
    )]
    Words(String),
}

impl KeyStrategy {
    /// Returns the strategy of these levels, each with its parts.
    pub fn new(levels: Vec<Vec<Part>>) -> Result<Self, StrategyError> {
        if levels.is_empty() || levels.len() > MOST_LEVELS {
            return Err(StrategyError::Levels(levels.len()));
        }
        if levels.iter().any(Vec::is_empty) {
            return Err(StrategyError::NoParts);
        }
        Ok(Self { levels, classed: None })
    }

    /// Returns the strategy of one level with a first part and others.
    pub(crate) fn of<const N: usize>(parts: [Part; N]) -> Self {
        const { assert!(N > 0, "a level has at least one part") };
        Self { levels: vec![parts.into()], classed: None }
    }

    /// Returns the levels, each with its parts, of the items that are of no class.
    pub fn levels(&self) -> &[Vec<Part>] {
        &self.levels
    }
}

impl Part {
    /// Returns the path of the property that this part is made of.
    pub fn path(&self) -> &Path {
        match self {
            Self::Value(path) | Self::Period(path, _) | Self::Bucket(path, _) => path,
        }
    }
}
