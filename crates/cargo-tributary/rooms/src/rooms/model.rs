//! Rooms, bookings and people as they are stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::prelude::*;

checked_text!(
    /// The id of a room.
    RoomId, "blue", id_rule;

    /// The id of a booking.
    BookingId, "019ae5b2-7c1f-7d2a-9f0e-3b6d5a4c2e10", id_rule;

    /// The id of a person.
    PersonId, "ann", id_rule;

    /// A title or a name: 1 to 100 characters.
    Text, "The blue room", length_rule(1..=100);

    /// The purpose of a booking: 1 to 10,000 characters.
    Purpose, "The weekly meeting", length_rule(1..=10_000)
);

/// The person in a request.
pub struct Name(pub Text);

from_form!(Name(text("name", Text::parse)));

from_form!(
    /// The room in a request.
    pub struct RoomText {
        pub person_id: PersonId = text("personId", PersonId::parse),
        pub title: Text = text("title", Text::parse),
    }
);

from_form!(
    /// The booking in a request.
    pub struct BookingText {
        pub person_id: PersonId = text("personId", PersonId::parse),
        pub purpose: Purpose = text("purpose", Purpose::parse),
    }
);

/// An item of the container `rooms`.
#[items(partition_key = "roomId")]
pub enum RoomsItem {
    Room(Room),
    DeletedRoom(DeletedRoom),
    Booking(Booking),
}

/// A room.
#[item(RoomsItem, id = room_id, version, created_by, former_owners(former = person_id), tombstone(struct DeletedRoom {
    id: String,
    room_id: RoomId,
    person_id: PersonId,
    /// The creation date of the deleted room: a room in its place is newer.
    room_date: Timestamp = creation_date,
}))]
pub struct Room {
    #[serde(flatten)]
    pub public: PublicRoom,
    /// The version of the person that `personName` was taken from.
    pub person_version: u64,
}

/// A room as the API shows it, with the name of its person.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Room")]
pub struct PublicRoom {
    /// Equal to `roomId`, but in copies, which may need an id of their own.
    #[schemars(with = "RoomId")]
    pub id: String,
    pub room_id: RoomId,
    pub person_id: PersonId,
    pub person_name: Text,
    pub title: Text,
    pub booking_count: u64,
    pub creation_date: Timestamp,
}

/// A booking of a room.
#[item(RoomsItem, partition = room_id, id = id)]
pub struct Booking {
    #[serde(flatten)]
    pub public: PublicBooking,
    /// The version of the room that counted the booking first; 0 until one has.
    pub room_version: u64,
}

/// A booking as the API shows it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Booking")]
pub struct PublicBooking {
    pub id: BookingId,
    pub room_id: RoomId,
    pub person_id: PersonId,
    pub purpose: Purpose,
    pub creation_date: Timestamp,
}

/// An item of the container `people`: a person, and copies of rooms.
#[items(partition_key = "personId", sources(Person, Renaming))]
pub enum PeopleItem {
    Person(Person),
    Renaming(Continuation),
    Room(RoomCopy),
    DeletedRoom(DeletedRoom),
}

/// The copy of a room.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomCopy {
    #[serde(flatten)]
    pub public: PublicRoom,
    /// The version of the room.
    pub version: u64,
}

#[item(PeopleItem, id = person_id, version)]
pub struct Person {
    pub id: PersonId,
    pub person_id: PersonId,
    pub name: Text,
    pub creation_date: Timestamp,
}

impl Person {
    pub fn new(id: PersonId, name: Text, before: Option<&Self>) -> Self {
        match before {
            Some(before) => Self { name, ..before.next() },
            None => Self::first(id.clone(), id, name, Timestamp::now()),
        }
    }
}

impl Room {
    /// Returns a new room, in the place of a deleted one if there was one; `None` if that had too many owners.
    pub fn new(
        room_id: RoomId,
        title: &Text,
        person: &Person,
        before: Option<&DeletedRoom>,
        command: &CommandId,
    ) -> Option<Self> {
        let now = Timestamp::now();
        let public = PublicRoom {
            id: room_id.to_string(),
            room_id,
            person_id: person.person_id.clone(),
            person_name: person.name.clone(),
            title: title.clone(),
            booking_count: 0,
            creation_date: before.map_or(now, |before| now.max(before.room_date.next())),
        };
        Self::first(public, person.version, command).replacing(before)
    }

    pub fn edited(&self, title: &Text, command: &CommandId) -> Self {
        let mut room = self.next().remembering(command);
        room.public.title = title.clone();
        room
    }

    pub fn renamed(&self, person: &Person) -> Self {
        let mut room = Self { person_version: person.version, ..self.next() };
        room.public.person_name = person.name.clone();
        room
    }

    pub fn counting(&self, booking_count: u64) -> Self {
        let mut room = self.next();
        room.public.booking_count = booking_count;
        room
    }

    /// Returns the copy of the room under this id.
    pub fn copy(&self, id: String) -> RoomCopy {
        RoomCopy { public: PublicRoom { id, ..self.public.clone() }, version: self.version }
    }
}

impl DeletedRoom {
    /// Returns the tombstone of the copy beside a person.
    pub fn copy(&self, id: &str, person_id: PersonId, version: u64) -> Self {
        let (recent, former) = Default::default();
        Self { id: id.to_owned(), person_id, version, recent, former, ..self.clone() }
    }
}

impl Booking {
    /// Returns a booking that is still to be counted.
    pub fn new(room_id: &RoomId, id: BookingId, text: BookingText) -> Self {
        let BookingText { person_id, purpose } = text;
        let room_id = room_id.clone();
        let creation_date = Timestamp::now();
        let public = PublicBooking { id, room_id, person_id, purpose, creation_date };
        Self { public, room_version: 0 }
    }

    pub fn has_text_of(&self, other: &Self) -> bool {
        let [own, other] = [&self.public, &other.public];
        own.person_id == other.person_id && own.purpose == other.purpose
    }
}
