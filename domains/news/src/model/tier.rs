//! The containers of feeds.

use serde::{Deserialize, Serialize};

/// The containers, from the hottest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tier {
    /// `feeds_current`: the new items.
    Hot,
    /// `feeds_historical`.
    Warm,
    /// `feeds_archive`: readable by id only.
    Archive,
}

impl Tier {
    /// All tiers, from the hottest.
    pub const ALL: [Self; 3] = [Self::Hot, Self::Warm, Self::Archive];

    pub fn colder(self) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| *tier > self)
    }

    pub fn hotter(self) -> Option<Self> {
        Self::ALL.into_iter().rev().find(|tier| *tier < self)
    }

    /// Returns the name of the container in `x-containers-queried` and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Warm => "warm",
            Self::Archive => "archive",
        }
    }
}
