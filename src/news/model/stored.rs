//! Feed items as they are stored, and what an item leaves where it was.

use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::{
        idempotency::{Recent, remembers},
        relocation::{Carried, CopyState},
    },
    values::{CommandId, Timestamp},
};

use super::{FeedItem, ItemId, PartitionKey, Place};

/// How long a tombstone stays, and a copy that was brought to a colder container, in seconds: a day.
///
/// No request and no run of the migration takes that long, so none that has read an older state
/// writes after it.
pub const TOMBSTONE_TTL_SECONDS: i64 = 24 * 60 * 60;

/// An item that stays until it is deleted, whatever the container's default.
const FOR_EVER: i64 = -1;

/// The items of the containers of feeds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum NewsItem {
    /// A feed item.
    FeedItem(Box<StoredItem>),
    /// What an item leaves that has moved to another partition.
    Vacated(Vacated),
}

/// A feed item as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredItem {
    /// What the API shows.
    #[serde(flatten)]
    pub public: FeedItem,
    /// What this copy is.
    pub state: CopyState,
    /// Raised by each write of a command.
    pub version: u64,
    /// The command that created the item.
    pub created_by: CommandId,
    /// The commands that were lately carried out on the item.
    #[serde(default, skip_serializing_if = "Recent::is_empty")]
    pub recent: Recent,
    /// The tags in one text: a query looks into it as into title and content.
    tag_text: String,
    /// The move that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure: Option<Box<Departure>>,
    /// The last move that brought the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived_from: Option<Arrival>,
    /// Seconds until the item goes away; -1 is never. An item that is in no colder container has -1,
    /// since the default of the hot container would delete it.
    ttl: i64,
}

/// A move that has brought an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arrival {
    /// The place that the item has come from. There it may depart still.
    #[serde(flatten)]
    pub place: Place,
    /// The version with which it came, and which its location has when the move has ended.
    pub version: u64,
}

/// A move to another place that has begun, with the edit that is the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Departure {
    /// Where to.
    pub to: Place,
    /// The item as it will be there.
    pub item: FeedItem,
    /// The command that moves it.
    pub command: CommandId,
}

/// What an item leaves that has moved to another partition: a late copy of it finds the place taken.
/// A place that an item is about to move to has one, too, with a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vacated {
    /// The id of the item.
    pub id: ItemId,
    /// The partition key.
    pub partition_key: PartitionKey,
    /// Where the item went.
    pub moved_to: PartitionKey,
    /// The move that the place is reserved for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
    ttl: i64,
}

/// The reservation of a place for a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// The command that moves the item.
    pub command: CommandId,
    /// True if something stood in the place before, which kept late copies out.
    pub was_taken: bool,
}

impl NewsItem {
    /// The item, unless this is a tombstone.
    pub fn item(&self) -> Option<&StoredItem> {
        match self {
            Self::FeedItem(item) => Some(item),
            Self::Vacated(_) => None,
        }
    }

    /// Returns the item, unless this is a tombstone.
    pub fn into_item(self) -> Option<StoredItem> {
        match self {
            Self::FeedItem(item) => Some(*item),
            Self::Vacated(_) => None,
        }
    }

    /// The item, if it is here and not in a colder container.
    pub fn truth(self) -> Option<StoredItem> {
        match self {
            Self::FeedItem(item) if item.state != CopyState::Carried => Some(*item),
            Self::FeedItem(_) | Self::Vacated(_) => None,
        }
    }
}

impl From<StoredItem> for NewsItem {
    fn from(item: StoredItem) -> Self {
        Self::FeedItem(Box::new(item))
    }
}

impl StoredItem {
    /// Returns a new item.
    pub fn new(public: FeedItem, created_by: CommandId) -> Self {
        Self {
            tag_text: tag_text(&public),
            public,
            state: CopyState::Live,
            version: 1,
            created_by,
            recent: Recent::default(),
            departure: None,
            arrived_from: None,
            ttl: FOR_EVER,
        }
    }

    /// Returns the item after an edit by a command.
    pub fn edited(&self, public: FeedItem, command: &CommandId) -> Self {
        let mut item =
            Self { tag_text: tag_text(&public), public, version: self.version + 1, ..self.clone() };
        item.recent.remember([command.clone()], Timestamp::now());
        item
    }

    /// Returns the item that is about to move.
    pub fn departing(&self, departure: Departure) -> Self {
        Self { state: CopyState::Departing, departure: Some(Box::new(departure)), ..self.clone() }
    }

    /// Returns the item in its new place.
    pub fn arrived(&self, departure: &Departure, from: Place) -> Self {
        let arrival = Arrival { place: from, version: self.version + 1 };
        let item = Self { arrived_from: Some(arrival), ..self.staying() };
        item.edited(departure.item.clone(), &departure.command)
    }

    /// Returns the item without the move that has begun.
    pub fn staying(&self) -> Self {
        Self { state: CopyState::Live, departure: None, ..self.clone() }
    }

    /// Returns true if the store will delete this copy.
    pub fn expires(&self) -> bool {
        self.ttl != FOR_EVER
    }

    /// Returns the item that stays, made of a copy that the store would delete.
    pub fn kept(&self) -> Self {
        let state = if self.departure.is_some() { CopyState::Departing } else { CopyState::Live };
        Self { state, ttl: FOR_EVER, ..self.clone() }
    }

    /// Returns what the item leaves in the place from which it moves.
    pub fn vacated(&self, to: &PartitionKey) -> Vacated {
        Vacated::new(self.public.id.clone(), self.public.partition_key.clone(), to.clone())
    }
}

impl Vacated {
    /// Creates what an item leaves.
    pub fn new(id: ItemId, partition_key: PartitionKey, moved_to: PartitionKey) -> Self {
        Self { id, partition_key, moved_to, reservation: None, ttl: TOMBSTONE_TTL_SECONDS }
    }

    /// Returns the tombstone with this reservation, or without any.
    pub fn with_reservation(self, reservation: Option<Reservation>) -> Self {
        Self { reservation, ..self }
    }

    /// Returns true if the place is reserved for a move.
    pub fn is_reserved_for(&self, departure: &Departure) -> bool {
        self.reservation.as_ref().is_some_and(|it| it.command == departure.command)
    }
}

fn tag_text(item: &FeedItem) -> String {
    let tags: Vec<&str> = item.tags.iter().map(super::Tag::as_str).collect();
    // No text that a caller seeks has this character.
    tags.join("\n")
}

remembers!(created_by: StoredItem);

impl Carried for NewsItem {
    fn copy(&self) -> Option<(CopyState, u64)> {
        self.item().map(|item| (item.state, item.version))
    }

    fn carried(&self) -> Self {
        match self {
            Self::FeedItem(item) => Self::FeedItem(Box::new(StoredItem {
                state: CopyState::Carried,
                ttl: TOMBSTONE_TTL_SECONDS,
                ..(**item).clone()
            })),
            Self::Vacated(_) => self.clone(),
        }
    }
}
