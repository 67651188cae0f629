//! The copies of an item in all containers, and its location.

use std::{collections::HashMap, sync::Arc};

use futures::future::try_join4;
use serde::Deserialize;
use serde_json::Value;
use tributary_functions::{
    cosmos::{Container, Scope, StoreError},
    values::Timestamp,
};

use crate::{
    model::{Departure, Place, Tier},
    state::News,
};

/// The copies and the location of an item, as the audit has read them.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) copies: Vec<Copy>,
    location: Option<KnownLocation>,
}

/// A copy of an item in a container.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) tier: Tier,
    pub(super) key: String,
    pub(super) etag: String,
    pub(super) seen: Seen,
}

/// The state of a copy.
#[derive(Debug, PartialEq)]
pub(super) enum Seen {
    Here(u64),
    Departing { version: u64, to: Place, since: Timestamp },
    Carried(u64),
    Vacated,
    Unreadable,
}

/// The location of an item, as the audit has read it.
#[derive(Debug)]
pub(super) struct KnownLocation {
    /// The place that the location names; `None` if it is unreadable.
    pub(super) place: Option<Place>,
    pub(super) etag: String,
}

impl KnownLocation {
    /// Returns the partition key that the location names; `None` if the place is unreadable.
    pub(super) fn partition_key(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.partition_key.as_str())
    }
}

/// The fields that the audit reads of a copy or of a location.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    partition_key: String,
    #[serde(rename = "_etag")]
    etag: String,
    #[serde(rename = "type", default)]
    kind: Value,
    #[serde(default)]
    state: Value,
    #[serde(default)]
    version: Value,
    #[serde(default)]
    departure: Value,
    #[serde(default)]
    place: Value,
}

const COPY: &str = "c.id, c.partitionKey, c._etag, c.type, c.state, c.version, c.departure";
const LOCATION: &str = "c.id, c.partitionKey, c._etag, c.place";

impl Known {
    /// Reads the copies and locations of some items: one query for each container, in all
    /// partitions.
    pub(super) async fn read<'a>(
        news: &News,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Result<HashMap<String, Arc<Self>>, StoreError> {
        let mut ids: Vec<&str> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let ids = &ids;
        let read = async |container: &Container, select| {
            container.query_ids_in::<Row>(Scope::Container, select, ids).await
        };
        let (hot, warm, archive, locations) = try_join4(
            read(&news.hot, COPY),
            read(&news.warm, COPY),
            read(&news.archive, COPY),
            read(&news.locations, LOCATION),
        )
        .await?;
        let mut known: HashMap<String, Self> = HashMap::new();
        for (tier, rows) in [(Tier::Hot, hot), (Tier::Warm, warm), (Tier::Archive, archive)] {
            for row in rows {
                let copies = &mut known.entry(row.id.clone()).or_default().copies;
                let seen = row.seen();
                copies.push(Copy { tier, key: row.partition_key, etag: row.etag, seen });
            }
        }
        for Row { id, etag, place, .. } in locations.into_iter().filter(Row::is_in_own_partition) {
            let place = Place::deserialize(place).ok();
            known.entry(id).or_default().location = Some(KnownLocation { place, etag });
        }
        for known in known.values_mut() {
            known.copies.sort_by(|one, other| (&one.key, one.tier).cmp(&(&other.key, other.tier)));
        }
        Ok(known.into_iter().map(|(id, known)| (id, Arc::new(known))).collect())
    }

    /// Returns the location of the item.
    pub(super) fn location(&self) -> Option<&KnownLocation> {
        self.location.as_ref()
    }

    /// Returns the copy in a place.
    pub(super) fn copy(&self, tier: Tier, key: &str) -> Option<&Copy> {
        self.copies.iter().find(|copy| copy.tier == tier && copy.key == key)
    }

    /// Returns the evidence of a suspicion, which must not change: the ETags of copies and
    /// location.
    pub(super) fn evidence(&self) -> String {
        let etags = self.copies.iter().map(|copy| &copy.etag);
        let etags = etags.chain(self.location.iter().map(|location| &location.etag));
        etags.cloned().collect::<Vec<_>>().join(" ")
    }

    /// Returns the copies in words, for a finding.
    pub(super) fn in_words(&self) -> String {
        let words = self.copies.iter().map(|Copy { tier, key, seen, .. }| {
            let seen = match seen {
                Seen::Here(version) => format!("live in version {version}"),
                Seen::Departing { version, .. } => format!("departing in version {version}"),
                Seen::Carried(version) => format!("carried in version {version}"),
                Seen::Vacated => "a tombstone".to_owned(),
                Seen::Unreadable => "unreadable".to_owned(),
            };
            format!("{} {key}: {seen}", tier.as_str())
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

impl Row {
    fn is_in_own_partition(&self) -> bool {
        self.partition_key == self.id
    }

    fn seen(&self) -> Seen {
        let version = self.version.as_u64();
        match (self.kind.as_str(), self.state.as_str(), version) {
            (Some("vacated"), ..) => Seen::Vacated,
            (Some("feedItem"), Some("live"), Some(version)) => Seen::Here(version),
            (Some("feedItem"), Some("carried"), Some(version)) => Seen::Carried(version),
            (Some("feedItem"), Some("departing"), Some(version)) => {
                Departure::deserialize(&self.departure).map_or(Seen::Unreadable, |departure| {
                    let since = departure.item.crawled_date;
                    Seen::Departing { version, to: departure.to, since }
                })
            }
            _ => Seen::Unreadable,
        }
    }
}

impl Copy {
    /// Returns the version of the item, if this copy is the item.
    pub(super) fn truth(&self) -> Option<u64> {
        match self.seen {
            Seen::Here(version) | Seen::Departing { version, .. } => Some(version),
            Seen::Carried(_) | Seen::Vacated | Seen::Unreadable => None,
        }
    }

    pub(super) fn is_here(&self) -> bool {
        matches!(self.seen, Seen::Here(_))
    }
}
