//! The containers of feeds.

use serde::{Deserialize, Serialize};
use tributary_functions::engines::item_move;

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

impl item_move::Tier for Tier {
    const ALL: &'static [Self] = &[Self::Hot, Self::Warm, Self::Archive];
}

impl Tier {
    /// Returns the name of the container in `x-containers-queried` and in the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Warm => "warm",
            Self::Archive => "archive",
        }
    }
}
