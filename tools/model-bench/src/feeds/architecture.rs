//! The architectures, and their partition keys.

use std::fmt;

use serde::Serialize;

use super::keys::KeyStrategy;

/// An architecture of the guide, with its partition keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Architecture {
    /// `feeds_current` and `feeds_historical`, hybrid keys.
    HotWarm,
    /// The same, plain monthly keys.
    HotWarmMonthly,
    /// One collection, hybrid keys.
    One,
    /// The same, plain monthly keys.
    OneMonthly,
    /// A collection a year, hybrid keys.
    Yearly,
    /// One collection, the id for its key.
    Unseparated,
}

/// The containers of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    HotWarm,
    One,
    Yearly,
}

impl Architecture {
    /// All architectures.
    pub(super) const ALL: [Self; 6] = [
        Self::HotWarm,
        Self::HotWarmMonthly,
        Self::One,
        Self::OneMonthly,
        Self::Yearly,
        Self::Unseparated,
    ];

    /// Returns its name in the report.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HotWarm => "hot/warm",
            Self::HotWarmMonthly => "hot/warm, monthly",
            Self::One => "one",
            Self::OneMonthly => "one, monthly",
            Self::Yearly => "yearly",
            Self::Unseparated => "unseparated",
        }
    }

    /// Returns the title for reports: containers and keys.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::HotWarm => "hot and warm, keys provider_month and provider_quarter",
            Self::HotWarmMonthly => "hot and warm, keys by month",
            Self::One => "one collection, keys provider_month and provider_quarter",
            Self::OneMonthly => "one collection, keys by month",
            Self::Yearly => "a collection a year, keys provider_month and provider_quarter",
            Self::Unseparated => "one collection, key = id",
        }
    }

    pub(super) fn layout(self) -> Layout {
        match self {
            Self::HotWarm | Self::HotWarmMonthly => Layout::HotWarm,
            Self::One | Self::OneMonthly | Self::Unseparated => Layout::One,
            Self::Yearly => Layout::Yearly,
        }
    }

    pub(super) fn keys(self) -> KeyStrategy {
        match self {
            Self::HotWarm | Self::One | Self::Yearly => KeyStrategy::Hybrid,
            Self::HotWarmMonthly | Self::OneMonthly => KeyStrategy::Monthly,
            Self::Unseparated => KeyStrategy::Id,
        }
    }

    /// Returns true if items move from one container to another.
    pub(super) fn migrates(self) -> bool {
        self.layout() == Layout::HotWarm
    }

    /// Returns the one collection with the same keys, which a migration has to outperform.
    pub(super) fn without_migration(self) -> Option<Self> {
        match self {
            Self::HotWarm => Some(Self::One),
            Self::HotWarmMonthly => Some(Self::OneMonthly),
            _ => None,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = clap::ValueEnum::to_possible_value(self);
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}
