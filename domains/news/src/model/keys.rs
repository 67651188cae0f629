//! Partition keys of feed items: the guide's hybrid strategy, and plain months.

use std::{collections::HashSet, ops::Range};

use cosmos_model::partitioning::{
    parts,
    period::{Granularity, Period},
};
use serde::{Deserialize, Serialize};

use super::ProviderId;
use tributary_functions::values::{self, Timestamp};

values::checked_text!(
    /// The value of `/partitionKey`: `reuters_2026-11`, `gazette_2026-Q4`, or `2026-11`.
    PartitionKey, "north-wire_2026-11", |text| {
        if is_key(&text) { Ok(text) } else { Err("must be a partition key".into()) }
    }
);

/// The spread of items over logical partitions (guide, "Partition Strategy Analysis").
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// Provider and time: months for the providers of high volume, quarters for the others.
    Hybrid { high_volume: HashSet<ProviderId> },
    /// Months, shared by all providers.
    Monthly,
}

/// The class of a partition key: with or without the provider, and by month or quarter. The items of a
/// provider that enters or leaves the high volume have keys of two classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyClass {
    ProviderMonth,
    ProviderQuarter,
    /// Months of all providers.
    Month,
}

impl Strategy {
    pub fn class(&self, provider: &ProviderId) -> KeyClass {
        match self {
            Self::Hybrid { high_volume } if high_volume.contains(provider) => {
                KeyClass::ProviderMonth
            }
            Self::Hybrid { .. } => KeyClass::ProviderQuarter,
            Self::Monthly => KeyClass::Month,
        }
    }
}

impl KeyClass {
    const ALL: [Self; 3] = [Self::ProviderMonth, Self::ProviderQuarter, Self::Month];

    /// Returns the class of a key, if the key belongs to an item of this provider and date.
    pub fn from_key(
        key: &PartitionKey,
        provider: &ProviderId,
        published: Timestamp,
    ) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.key(provider, published) == *key)
    }

    pub fn key(self, provider: &ProviderId, published: Timestamp) -> PartitionKey {
        self.period_key(provider, self.granularity().period(published.into()))
    }

    /// Returns the keys of a provider's items in `range`, each with its period, oldest first.
    pub fn keys(
        self,
        provider: &ProviderId,
        range: Range<Timestamp>,
    ) -> impl DoubleEndedIterator<Item = (PartitionKey, Period)> {
        let range = range.start.into()..range.end.into();
        self.granularity()
            .periods(range)
            .map(move |period| (self.period_key(provider, period), period))
    }

    fn granularity(self) -> Granularity {
        match self {
            Self::ProviderMonth | Self::Month => Granularity::Month,
            Self::ProviderQuarter => Granularity::Quarter,
        }
    }

    fn period_key(self, provider: &ProviderId, period: Period) -> PartitionKey {
        let period = period.to_string();
        PartitionKey(match self {
            Self::ProviderMonth | Self::ProviderQuarter => {
                parts::join([provider.as_str(), &period])
            }
            Self::Month => period,
        })
    }
}

impl PartitionKey {
    /// Returns the keys of the shared months, oldest first.
    pub fn months(range: Range<Timestamp>) -> impl DoubleEndedIterator<Item = (Self, Period)> {
        let range = range.start.into()..range.end.into();
        Granularity::Month.periods(range).map(|period| (Self(period.to_string()), period))
    }

    /// Returns the provider, unless the key is a shared month.
    pub fn provider(&self) -> Option<ProviderId> {
        match parts::split(&self.0)?.as_slice() {
            [provider, _] => ProviderId::parse(provider.clone()).ok(),
            _ => None,
        }
    }
}

fn is_key(text: &str) -> bool {
    let Some(parts) = parts::split(text) else { return false };
    let period = parts.last().and_then(|period| period.parse::<Period>().ok());
    match (parts.as_slice(), period.map(Period::granularity)) {
        ([provider, _], Some(Granularity::Month | Granularity::Quarter)) => {
            ProviderId::parse(provider.clone()).is_ok()
        }
        ([_], Some(Granularity::Month)) => true,
        _ => false,
    }
}
