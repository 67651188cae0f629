//! Rooms and bookings as they are stored, and what a room decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::{
        counted_children::{Changes, Family},
        idempotency::{RecentCommands, remembers},
        tombstone,
    },
    values::{CommandId, Timestamp, checked_text, id_rule, item_types, length_rule},
};

/// How many coming bookings a room has at most: it keeps the times of each, some 150 bytes.
const MAX_COMING: usize = 200;

checked_text!(
    /// The id of a room.
    RoomId, "blue", id_rule;

    /// The id of a person.
    PersonId, "ann", id_rule;

    /// The id of a booking.
    BookingId, "b1", id_rule;

    /// The name of a room: 1 to 100 characters.
    RoomName, "The blue room", length_rule(1..=100);
);

/// An item of `rooms`, and of `people`, which has copies of bookings only.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RoomsItem {
    /// A room.
    Room(Room),
    /// A booking.
    Booking(Booking),
    /// The tombstone of a booking.
    CancelledBooking(Booking),
    /// The continuation of a rename.
    Renaming(Renaming),
}

/// A room.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    id: RoomId,
    /// What callers see.
    #[serde(flatten)]
    pub public: PublicRoom,
    /// Raised by each other name.
    pub name_version: u64,
    /// The times of the coming bookings.
    coming: Vec<(BookingId, Timestamp, Timestamp)>,
    /// The creation, under the name of the date by which bookings are sorted: a list begins with the room.
    starts_at: Timestamp,
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    recent: RecentCommands,
}

remembers!(Room);
item_types!(RoomsItem: Room(Room));

/// A room as callers see it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Room")]
pub struct PublicRoom {
    /// The partition key.
    pub room_id: RoomId,
    /// The name.
    pub name: RoomName,
    /// How many bookings there are.
    pub booking_count: u64,
}

/// A booking.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Booking {
    /// What callers see.
    #[serde(flatten)]
    pub public: PublicBooking,
    /// The name that the room had when it was booked; in a copy, the name that it has.
    pub room_name: RoomName,
    /// The version of this name.
    pub name_version: u64,
    /// 1, and 2 in the tombstone.
    pub version: u64,
    /// The command that cancelled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<CommandId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<u32>,
}

/// A booking as callers see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Booking")]
pub struct PublicBooking {
    /// The id.
    pub id: BookingId,
    /// The partition key.
    pub room_id: RoomId,
    /// The person who comes.
    pub person_id: PersonId,
    /// The begin.
    pub starts_at: Timestamp,
    /// The end.
    pub ends_at: Timestamp,
}

/// The continuation of a rename.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Renaming {
    id: String,
    pub(super) room_id: RoomId,
    pub(super) name_version: u64,
    ttl: u32,
}

impl Renaming {
    /// The id, which no booking has.
    pub(super) const ID: &str = "room:renaming";

    pub(super) fn of(room: &Room) -> Self {
        let (room_id, name_version) = (room.public.room_id.clone(), room.name_version);
        Self { id: Self::ID.to_owned(), room_id, name_version, ttl: tombstone::TTL_SECONDS }
    }
}

impl Room {
    /// Creates a room.
    pub fn new(room_id: RoomId, name: RoomName) -> Self {
        let public = PublicRoom { room_id: room_id.clone(), name, booking_count: 0 };
        let (coming, starts_at, recent) = (Vec::new(), Timestamp::now(), RecentCommands::default());
        Self { id: room_id, public, name_version: 1, coming, starts_at, recent }
    }

    /// Returns the room with another name.
    #[must_use]
    pub fn renamed(mut self, name: RoomName) -> Self {
        self.public.name = name;
        Self { name_version: self.name_version + 1, ..self }
    }
}

impl Booking {
    /// Returns the tombstone.
    #[must_use]
    pub fn cancelled(&self, command: &CommandId) -> Self {
        let (cancelled_by, ttl) = (Some(command.clone()), Some(tombstone::TTL_SECONDS));
        Self { version: self.version + 1, cancelled_by, ttl, ..self.clone() }
    }

    /// Returns the copy with the name of the room.
    #[must_use]
    pub fn named(&self, room: &Room) -> Self {
        let (room_name, name_version) = (room.public.name.clone(), room.name_version);
        Self { room_name, name_version, ..self.clone() }
    }
}

/// A room and its bookings. Another name is an edit of the room.
pub struct RoomFamily;

impl Family for RoomFamily {
    type Key = RoomId;
    type Item = RoomsItem;
    type Parent = Room;
    type Child = PublicBooking;
    type ChildId = BookingId;
    type Edit = RoomName;
    /// The reason in words for the caller.
    type Refused = &'static str;

    fn parent(item: RoomsItem) -> Option<Room> {
        item.try_into().ok()
    }

    fn parent_item(room: Room) -> RoomsItem {
        RoomsItem::Room(room)
    }

    fn child(item: RoomsItem) -> Option<PublicBooking> {
        if let RoomsItem::Booking(booking) = item { Some(booking.public) } else { None }
    }

    fn child_item(booking: &PublicBooking, room: &Room) -> RoomsItem {
        let (room_name, name_version) = (room.public.name.clone(), room.name_version);
        RoomsItem::Booking(Booking {
            public: booking.clone(),
            room_name,
            name_version,
            version: 1,
            cancelled_by: None,
            ttl: None,
        })
    }

    fn child_id(booking: &PublicBooking) -> BookingId {
        booking.id.clone()
    }

    fn after(room: &Room, changes: &Changes<'_, Self>) -> Room {
        let mut room = room.clone();
        room.public.booking_count = changes.count(room.public.booking_count, |_| true);
        room.coming.retain(|(id, _, end)| *end > changes.now && !changes.deletes(id));
        let times = |new: &PublicBooking| (new.id.clone(), new.starts_at, new.ends_at);
        room.coming.extend(changes.created().map(times));
        if let Some(name) = changes.edit { room.renamed(name.clone()) } else { room }
    }

    fn refuses(room: impl FnOnce() -> Room, new: &PublicBooking) -> Option<&'static str> {
        let mut others = room().coming;
        others.retain(|(id, ..)| *id != new.id);
        if others.iter().any(|(_, start, end)| *start < new.ends_at && new.starts_at < *end) {
            return Some("The room is booked at this time. Choose another time.");
        }
        let is_full = others.len() >= MAX_COMING;
        is_full.then_some("The room has too many coming bookings. Choose another room.")
    }
}
