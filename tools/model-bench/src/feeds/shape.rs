//! The shapes of requests, and the guide's figures of them.

use serde::Serialize;

use super::architecture::Architecture;

/// A query shape or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RequestShape {
    Recent,
    ProviderHigh,
    ProviderOther,
    Search,
    SearchScan,
    AllProviders,
    Analytics,
    Item,
    Post,
    Repost,
    Bulk,
    Migrate,
}

/// A row of the guide's table "Performance characteristics".
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Published {
    pub(super) pattern: &'static str,
    pub(super) partitions: &'static str,
    pub(super) request_units: &'static str,
    /// The same as numbers; the last row has no upper end.
    pub(super) from: f64,
    pub(super) to: f64,
}

impl RequestShape {
    /// All shapes: queries first, before the writes add items.
    pub(super) const ALL: [Self; 12] = [
        Self::Recent,
        Self::ProviderHigh,
        Self::ProviderOther,
        Self::Search,
        Self::SearchScan,
        Self::AllProviders,
        Self::Analytics,
        Self::Item,
        Self::Post,
        Self::Repost,
        Self::Bulk,
        Self::Migrate,
    ];

    /// Returns its description.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Recent => "recent, 7 days",
            Self::ProviderHigh => "provider of high volume, 30 days",
            Self::ProviderOther => "other provider, 30 days",
            Self::Search => "search, 3 months",
            Self::SearchScan => "search, texts loaded",
            Self::AllProviders => "all providers, 100 items",
            Self::Analytics => "analytics, 12 months",
            Self::Item => "an item by its id",
            Self::Post => "post",
            Self::Repost => "post again",
            Self::Bulk => "bulk, per item",
            Self::Migrate => "migrate, per item",
        }
    }

    /// Returns true if an architecture has it.
    pub(super) fn is_of(self, architecture: Architecture) -> bool {
        self != Self::Migrate || architecture.migrates()
    }

    /// Returns the guide's estimate.
    pub(super) fn published(self) -> Option<Published> {
        let (pattern, partitions, request_units, from, to) = match self {
            Self::Recent => ("Recent feeds (7 days)", "1-2", "10-50", 10.0, 50.0),
            Self::ProviderHigh | Self::ProviderOther => {
                ("Provider feeds (30 days)", "1-2", "20-100", 20.0, 100.0)
            }
            Self::Search | Self::SearchScan => {
                ("Search across 3 months", "3", "50-200", 50.0, 200.0)
            }
            Self::AllProviders => ("All providers (recent)", "1-2", "50-300", 50.0, 300.0),
            Self::Analytics => ("Cross-provider analytics", "Multiple", "200+", 200.0, 200.0),
            _ => return None,
        };
        Some(Published { pattern, partitions, request_units, from, to })
    }
}
