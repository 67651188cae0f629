//! Rooms and bookings as they are stored, and what a room decides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::prelude::*;

/// The most coming bookings of a room, which keeps the times of each: some 150 bytes.
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

/// An item of `rooms`.
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
    Renaming(Continuation),
}

/// An item of `people`: the copy of a booking or of its tombstone.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PeopleItem {
    /// A booking.
    Booking(Booking),
    /// The tombstone of a booking.
    CancelledBooking(Booking),
}

/// A room.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    id: RoomId,
    /// The part that callers see.
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
item_types!(RoomsItem: Room(Room), Booking(Booking), Renaming(Continuation));

/// A room as callers see it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Room")]
pub struct PublicRoom {
    /// The partition key.
    pub room_id: RoomId,
    /// The name.
    pub name: RoomName,
    /// The number of bookings.
    pub booking_count: u64,
}

/// A booking.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Booking {
    /// The part that callers see.
    #[serde(flatten)]
    pub public: PublicBooking,
    /// The name that the room had when it counted the booking; in a copy, the name that it has.
    pub room_name: Option<RoomName>,
    /// The version of this name.
    pub name_version: u64,
    /// 1, and 2 in the tombstone.
    pub version: u64,
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
    /// The person of the booking.
    pub person_id: PersonId,
    /// The begin.
    pub starts_at: Timestamp,
    /// The end.
    pub ends_at: Timestamp,
}

impl Room {
    /// Creates a room.
    pub fn new(room_id: RoomId, name: RoomName) -> Self {
        let public = PublicRoom { room_id: room_id.clone(), name, booking_count: 0 };
        let starts_at = Timestamp::now();
        let recent = RecentCommands::default();
        Self { id: room_id, public, name_version: 1, coming: Vec::new(), starts_at, recent }
    }

    /// Returns the room with another name.
    #[must_use]
    pub fn renamed(mut self, name: RoomName) -> Self {
        self.public.name = name;
        Self { name_version: self.name_version + 1, ..self }
    }
}

impl DesiredItem<Self> for Room {
    fn has_created(&self, room: &Self) -> bool {
        room.starts_at == self.starts_at
    }

    fn is_satisfied_by(&self, room: &Self) -> bool {
        room.public.name == self.public.name
    }
}

impl Booking {
    /// Creates a booking that is still to be counted.
    pub fn new(public: PublicBooking) -> Self {
        Self { public, room_name: None, name_version: 0, version: 1, ttl: None }
    }

    /// Returns the tombstone.
    #[must_use]
    pub fn cancelled(self) -> Self {
        Self { version: self.version + 1, ttl: Some(tombstone::TTL_SECONDS), ..self }
    }

    /// Returns the booking with the name of its room.
    #[must_use]
    pub fn named(&self, room: &Room) -> Self {
        let room_name = Some(room.public.name.clone());
        Self { room_name, name_version: room.name_version, ..self.clone() }
    }
}

/// A room and its bookings. Another name is an edit of the room.
pub struct RoomFamily;

impl Family for RoomFamily {
    const PARENT: &'static str = "room";
    const CHILD: &'static str = "booking";
    const TOMBSTONE: Option<fn(Booking) -> RoomsItem> =
        Some(|booking| RoomsItem::CancelledBooking(booking.cancelled()));
    type Key = RoomId;
    type Item = RoomsItem;
    type Parent = Room;
    type Child = Booking;
    type ChildId = BookingId;
    type Edit = RoomName;
    type Refused = ApiError;

    fn child_item(booking: &Booking, room: &Room) -> RoomsItem {
        booking.named(room).into()
    }

    fn child_id(booking: &Booking) -> BookingId {
        booking.public.id.clone()
    }

    fn after(room: &Room, changes: &Changes<'_, Self>) -> Room {
        let mut room = room.clone();
        room.public.booking_count = changes.count(room.public.booking_count, |_| true);
        room.coming.retain(|(id, _, end)| *end > changes.now && !changes.deletes(id));
        let times = |it: &PublicBooking| (it.id.clone(), it.starts_at, it.ends_at);
        room.coming.extend(changes.created().map(|new| times(&new.public)));
        if let Some(name) = changes.edit { room.renamed(name.clone()) } else { room }
    }

    fn refuses(room: impl FnOnce() -> Room, new: &Booking) -> Option<ApiError> {
        let PublicBooking { id: own, starts_at, ends_at, .. } = &new.public;
        let mut others = room().coming;
        others.retain(|(id, ..)| id != own);
        if others.iter().any(|(_, start, end)| start < ends_at && starts_at < end) {
            let taken = "The room is booked at this time. Choose another time.";
            return Some(ApiError::Conflict(taken));
        }
        let full = "The room has too many coming bookings. Choose another room.";
        (others.len() >= MAX_COMING).then_some(ApiError::Conflict(full))
    }
}
