//! The result of one attempt at a repair.

use crate::cosmos::{Reason, Refusal, StoreError};

/// The reason for which a repair did nothing.
#[derive(Debug)]
pub enum Obstacle {
    /// A lost race: check again.
    Race,
    /// No program can decide this. The sentence says what the operator can do.
    NeedsOperator(&'static str),
    /// The store refused it.
    Store(StoreError),
}

/// The action of a repair in words, or its obstacle.
pub type RepairResult = Result<&'static str, Obstacle>;

impl From<StoreError> for Obstacle {
    fn from(error: StoreError) -> Self {
        if error.is_race() || error.reason == Reason::NotFound {
            Self::Race
        } else {
            Self::Store(error)
        }
    }
}

impl From<Refusal> for Obstacle {
    fn from(refusal: Refusal) -> Self {
        refusal.error.into()
    }
}
