//! The copies of an item in all containers, and its location.

use std::{collections::HashMap, sync::Arc};

use futures::future::try_join4;
use serde::Deserialize;
use serde_json::Value;
use tributary_functions::prelude::*;

use crate::{
    model::Tier,
    moves::{Departure, Place},
    state::News,
};

#[derive(Debug, Default)]
pub(super) struct ItemCopies {
    pub(super) copies: Vec<Copy>,
    pub(super) location: Option<ObservedLocation>,
}

#[derive(Debug)]
pub(super) struct Copy {
    pub(super) tier: Tier,
    pub(super) key: String,
    pub(super) etag: String,
    pub(super) state: ObservedState,
}

#[derive(Debug, PartialEq)]
pub(super) enum ObservedState {
    Live(u64),
    /// The copy is the item, which moves to another place.
    Departing {
        version: u64,
        to: Place,
        since: Timestamp,
    },
    Carried(u64),
    /// The copy is a tombstone.
    Vacated,
    Unreadable,
}

#[derive(Debug)]
pub(super) struct ObservedLocation {
    /// The place that the location names; `None` if it is unreadable.
    pub(super) place: Option<Place>,
    pub(super) etag: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuditRow {
    id: String,
    partition_key: String,
    #[serde(rename = "_etag")]
    etag: String,
    #[serde(flatten)]
    fields: Value,
}

const COPY_FIELDS: &str = "c.id, c.partitionKey, c._etag, c.type, c.state, c.version, c.departure";
const LOCATION_FIELDS: &str = "c.id, c.partitionKey, c._etag, c.place";

impl ItemCopies {
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
            container.query_ids::<AuditRow>(Scope::Container, select, ids).await
        };
        let (hot, warm, archive, locations) = try_join4(
            read(&news.hot, COPY_FIELDS),
            read(&news.warm, COPY_FIELDS),
            read(&news.archive, COPY_FIELDS),
            read(&news.locations, LOCATION_FIELDS),
        )
        .await?;
        let mut known: HashMap<String, Self> = HashMap::new();
        for (tier, rows) in [(Tier::Hot, hot), (Tier::Warm, warm), (Tier::Archive, archive)] {
            for row in rows {
                let copies = &mut known.entry(row.id.clone()).or_default().copies;
                let state = row.observed_state();
                copies.push(Copy { tier, key: row.partition_key, etag: row.etag, state });
            }
        }
        for row in locations.into_iter().filter(|row| row.partition_key == row.id) {
            let place = Place::deserialize(&row.fields["place"]).ok();
            let location = ObservedLocation { place, etag: row.etag };
            known.entry(row.id).or_default().location = Some(location);
        }
        for known in known.values_mut() {
            known.copies.sort_by(|a, b| (&a.key, a.tier).cmp(&(&b.key, b.tier)));
        }
        Ok(known.into_iter().map(|(id, known)| (id, Arc::new(known))).collect())
    }

    pub(super) fn located(&self) -> Option<&Place> {
        self.location.as_ref()?.place.as_ref()
    }

    pub(super) fn copy(&self, tier: Tier, key: &str) -> Option<&Copy> {
        self.copies.iter().find(|copy| copy.tier == tier && copy.key == key)
    }

    /// Returns the evidence of a suspicion: the ETags of copies and location. A suspicion becomes a
    /// finding only if its evidence stays the same.
    pub(super) fn evidence(&self) -> String {
        let etags = self.copies.iter().map(|copy| &copy.etag);
        let etags = etags.chain(self.location.iter().map(|location| &location.etag));
        etags.cloned().collect::<Vec<_>>().join(" ")
    }

    pub(super) fn in_words(&self) -> String {
        let words = self.copies.iter().map(|Copy { tier, key, state, .. }| {
            let state = match state {
                ObservedState::Live(version) => format!("live in version {version}"),
                ObservedState::Departing { version, .. } => {
                    format!("departing in version {version}")
                }
                ObservedState::Carried(version) => format!("carried in version {version}"),
                ObservedState::Vacated => "a tombstone".to_owned(),
                ObservedState::Unreadable => "unreadable".to_owned(),
            };
            format!("{} {key}: {state}", tier.as_str())
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

impl AuditRow {
    fn observed_state(&self) -> ObservedState {
        let [kind, state] = ["type", "state"].map(|name| self.fields[name].as_str());
        match (kind, state, self.fields["version"].as_u64()) {
            (Some("vacated"), ..) => ObservedState::Vacated,
            (Some("feedItem"), Some("live"), Some(version)) => ObservedState::Live(version),
            (Some("feedItem"), Some("carried"), Some(version)) => ObservedState::Carried(version),
            (Some("feedItem"), Some("departing"), Some(version)) => {
                let departure = Departure::deserialize(&self.fields["departure"]);
                departure.map_or(ObservedState::Unreadable, |Departure { to, item, .. }| {
                    ObservedState::Departing { version, to, since: item.crawled_date }
                })
            }
            _ => ObservedState::Unreadable,
        }
    }
}

impl Copy {
    /// Returns the version of the item, if this copy is the item.
    pub(super) fn current_version(&self) -> Option<u64> {
        match self.state {
            ObservedState::Live(version) | ObservedState::Departing { version, .. } => {
                Some(version)
            }
            ObservedState::Carried(_) | ObservedState::Vacated | ObservedState::Unreadable => None,
        }
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.state, ObservedState::Live(_))
    }

    pub(super) fn departs_to(&self, key: &str) -> bool {
        matches!(&self.state, ObservedState::Departing { to, .. } if to.partition_key.as_str() == key)
    }
}
