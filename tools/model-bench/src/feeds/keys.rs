//! The partition key of an item, and the keys that a query must visit.

use cosmos_model::partitioning::{
    parts,
    period::{Granularity, Period},
};
use time::OffsetDateTime;

use super::TimeWindow;

/// A strategy of the guide's appendix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyStrategy {
    /// Option 2: `reuters_2026-11` for providers of high volume, `provider-07_2026-Q4` for others.
    Hybrid,
    /// Option 1: `2026-11`.
    Monthly,
    /// Option 3: the item's id.
    Id,
}

/// The provider of an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Provider<'a> {
    pub(super) id: &'a str,
    pub(super) has_high_volume: bool,
}

impl Provider<'_> {
    fn granularity(self) -> Granularity {
        if self.has_high_volume { Granularity::Month } else { Granularity::Quarter }
    }

    fn key(self, period: Period) -> String {
        parts::join([self.id, &period.to_string()])
    }
}

impl KeyStrategy {
    /// Returns the key of an item.
    pub(super) fn of_item(self, id: &str, provider: Provider<'_>, published: i64) -> String {
        match self {
            Self::Hybrid => provider.key(provider.granularity().period(moment(published))),
            Self::Monthly => Granularity::Month.period(moment(published)).to_string(),
            Self::Id => id.to_owned(),
        }
    }

    /// Returns the keys of all items of a window, newest first; `None` if they are unknown, so that a
    /// query reads the whole container.
    pub(super) fn of_window(
        self,
        provider: Option<Provider<'_>>,
        window: TimeWindow,
    ) -> Option<Vec<String>> {
        let periods = |granularity: Granularity| {
            granularity.periods(moment(window.from)..moment(window.to)).rev()
        };
        match (self, provider) {
            (Self::Hybrid, Some(provider)) => {
                Some(periods(provider.granularity()).map(|period| provider.key(period)).collect())
            }
            (Self::Monthly, _) => {
                Some(periods(Granularity::Month).map(|period| period.to_string()).collect())
            }
            (Self::Hybrid, None) | (Self::Id, _) => None,
        }
    }

    /// Returns the range of publication of a partition's items by its key; `None` if the key does not
    /// have it.
    pub(super) fn window_of(self, key: &str) -> Option<TimeWindow> {
        let period: Period = match self {
            Self::Hybrid => parts::split(key)?.last()?.parse().ok()?,
            Self::Monthly => key.parse().ok()?,
            Self::Id => return None,
        };
        let seconds = OffsetDateTime::unix_timestamp;
        Some(TimeWindow { from: seconds(period.start()), to: seconds(period.end()) })
    }
}

/// Returns a moment of the years that the data can have.
pub(super) fn moment(seconds: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}
