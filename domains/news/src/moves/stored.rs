//! Items that move, as they are stored, and the tombstones that they leave.

use std::fmt;

use serde::{Deserialize, Serialize};
use tributary_functions::prelude::*;

use crate::model::{FeedItem, PartitionKey, Tag, Tier};

/// The time to live of a tombstone, and of a copy that was brought to a colder container, in seconds: a
/// day.
///
/// No request and no run takes that long, so none writes after it what it has decided on an older state.
const TOMBSTONE_TTL_SECONDS: i64 = 24 * 60 * 60;

/// The time to live of an item that stays until it is deleted, whatever the container's default.
const FOR_EVER: i64 = -1;

/// The place of an item: a container, and a logical partition in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The container.
    #[serde(rename = "store")]
    pub tier: Tier,
    pub partition_key: PartitionKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CopyState {
    Live,
    /// The copy is the item, which is about to move to another partition. The move comes before any
    /// move to a colder container.
    Departing,
    /// The item is in the colder container, and the store will delete this copy.
    Carried,
}

#[item(NewsItem, partition = partition_key, id = id, version, created_by, tombstone(Vacated))]
pub struct StoredItem {
    /// The part that readers see.
    #[serde(flatten)]
    pub public: FeedItem,
    /// The tags in one text: a query searches it as it searches title and content.
    tag_text: String,
    pub state: CopyState,
    /// The move that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure: Option<Box<Departure>>,
    /// The last move that brought the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived_from: Option<Arrival>,
    /// Seconds until the store deletes the item; -1 is never. An item that is in no colder container has
    /// -1, since the default of a container would delete it.
    ttl: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arrival {
    /// The place that the item has come from. The departing item may still be there.
    #[serde(flatten)]
    pub place: Place,
    /// The version of the arrival, which the location has, too, when the move has ended.
    pub version: u64,
}

/// A move to another place that has begun, with the edit that caused it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Departure {
    pub to: Place,
    pub item: FeedItem,
    pub command: CommandId,
}

/// The tombstone of an item that has moved on: a late copy of the item is refused. A place that is
/// reserved for an item has a tombstone, too, with a reservation.
#[item(NewsItem, partition = partition_key, id = id)]
pub struct Vacated {
    pub id: String,
    pub partition_key: PartitionKey,
    pub moved_to: PartitionKey,
    /// The move that the place is reserved for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
    ttl: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    pub command: CommandId,
    /// True if the place was taken before, by an item or a tombstone that kept late copies out.
    pub was_taken: bool,
}

/// The location of an item: it names the item's place. Each location has a logical partition of its own,
/// so that no partition grows with the number of items.
///
/// The location is written before the item. If the item does not follow, its creation was not
/// acknowledged.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    pub id: String,
    pub partition_key: String,
    /// The place where the item was created, or that it has moved to. Relocations do not change it.
    pub place: Place,
    pub version: u64,
}

/// The content of a place under the id of an item.
#[items]
pub enum NewsItem {
    FeedItem(Box<StoredItem>),
    /// The tombstone of an item that has moved to another place, or is about to move here.
    Vacated(Vacated),
}

impl NewsItem {
    /// Returns the item, unless this is a tombstone.
    pub fn item(&self) -> Option<&StoredItem> {
        if let Self::FeedItem(item) = self { Some(item) } else { None }
    }

    pub fn current(self) -> Option<StoredItem> {
        StoredItem::try_from(self).ok().filter(|item| item.state != CopyState::Carried)
    }

    /// Returns true if this copy has the item in this version, or in a later one.
    pub fn has_version(&self, version: u64) -> bool {
        self.item().is_some_and(|item| item.version >= version)
    }
}

/// The name of the container and the partition key, for logs and findings.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tier.as_str(), self.partition_key)
    }
}

impl StoredItem {
    pub fn new(public: FeedItem, command: &CommandId) -> Self {
        let tag_text = tag_text(&public);
        Self::first(public, tag_text, CopyState::Live, None, None, FOR_EVER, command)
    }

    pub fn edited(&self, public: FeedItem, command: &CommandId) -> Self {
        let tag_text = tag_text(&public);
        Self { public, tag_text, ..self.next() }.remembering(command)
    }

    pub(super) fn departing(&self, departure: Departure) -> Self {
        Self { state: CopyState::Departing, departure: Some(Box::new(departure)), ..self.clone() }
    }

    pub(super) fn arrived(&self, departure: &Departure, from: Place) -> Self {
        let arrival = Arrival { place: from, version: self.version + 1 };
        let item = Self { arrived_from: Some(arrival), ..self.staying() };
        item.edited(departure.item.clone(), &departure.command)
    }

    pub(super) fn staying(&self) -> Self {
        Self { state: CopyState::Live, departure: None, ..self.clone() }
    }

    /// Returns true if the store will delete this copy.
    pub fn expires(&self) -> bool {
        self.ttl != FOR_EVER
    }

    /// Returns the item without a time to live, from a copy that the store would delete.
    pub fn kept(&self) -> Self {
        let state = if self.departure.is_some() { CopyState::Departing } else { CopyState::Live };
        Self { state, ttl: FOR_EVER, ..self.clone() }
    }

    /// Returns the copy that stays in a hotter container for a day.
    pub(super) fn carried(&self) -> Self {
        Self { state: CopyState::Carried, ttl: TOMBSTONE_TTL_SECONDS, ..self.clone() }
    }

    /// Returns the tombstone that the item leaves in the place from which it moves.
    pub fn vacated(&self, to: &PartitionKey) -> Vacated {
        Vacated::new(self.public.id.as_str(), self.public.partition_key.clone(), to.clone())
    }
}

impl Vacated {
    pub fn new(id: &str, partition_key: PartitionKey, moved_to: PartitionKey) -> Self {
        let id = id.to_owned();
        Self { id, partition_key, moved_to, reservation: None, ttl: TOMBSTONE_TTL_SECONDS }
    }

    pub(super) fn is_reserved_for(&self, departure: &Departure) -> bool {
        self.reservation.as_ref().is_some_and(|it| it.command == departure.command)
    }
}

fn tag_text(item: &FeedItem) -> String {
    let tags: Vec<&str> = item.tags.iter().map(Tag::as_str).collect();
    // No search text has this character.
    tags.join("\n")
}
