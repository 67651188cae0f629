//! Rooms, bookings and people as they are stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::tombstone::{FormerOwners, TTL_SECONDS},
    prelude::*,
};

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

/// The room in a request.
pub struct RoomText {
    pub person_id: PersonId,
    pub title: Text,
}

from_form!(RoomText {
    person_id: text("personId", PersonId::parse),
    title: text("title", Text::parse),
});

/// The booking in a request.
pub struct BookingText {
    pub person_id: PersonId,
    pub purpose: Purpose,
}

from_form!(BookingText {
    person_id: text("personId", PersonId::parse),
    purpose: text("purpose", Purpose::parse),
});

/// An item of the container `rooms`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum RoomsItem {
    Room(Room),
    DeletedRoom(DeletedRoom),
    Booking(Booking),
}

/// A room.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    #[serde(flatten)]
    pub public: PublicRoom,
    /// The version of the person that `personName` was taken from.
    pub person_version: u64,
    /// Raised by each write.
    pub version: u64,
    pub created_by: CommandId,
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    pub recent: RecentCommands,
    #[serde(default, skip_serializing_if = "FormerOwners::is_empty")]
    pub former: FormerOwners,
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

/// The tombstone of a room, or of the copy of one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedRoom {
    pub id: String,
    pub room_id: RoomId,
    pub person_id: PersonId,
    pub version: u64,
    /// The creation date of the deleted room: a room in its place is newer.
    pub room_date: Timestamp,
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    pub recent: RecentCommands,
    #[serde(default, skip_serializing_if = "FormerOwners::is_empty")]
    pub former: FormerOwners,
    pub ttl: u32,
}

remembers!(DeletedRoom);
remembers!(created_by: Room);
item_types!(RoomsItem: Room(Room), DeletedRoom(DeletedRoom), Booking(Booking));
item_types!(PeopleItem: Person(Person), Renaming(Continuation));

/// A booking of a room.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

/// An item of the container `people`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
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

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Person {
    pub id: PersonId,
    pub person_id: PersonId,
    pub name: Text,
    /// Raised by each write.
    pub version: u64,
    pub creation_date: Timestamp,
}

impl Person {
    pub fn new(id: PersonId, name: Text, before: Option<&Self>) -> Self {
        let version = before.map_or(0, |before| before.version) + 1;
        let creation_date = before.map_or_else(Timestamp::now, |before| before.creation_date);
        Self { id: id.clone(), person_id: id, name, version, creation_date }
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
        let owner = person.person_id.as_str();
        let former = match before {
            Some(it) => it.former.followed_by(it.person_id.as_str(), it.version, owner)?,
            None => FormerOwners::default(),
        };
        Some(Self {
            public: PublicRoom {
                id: room_id.to_string(),
                room_id,
                person_id: person.person_id.clone(),
                person_name: person.name.clone(),
                title: title.clone(),
                booking_count: 0,
                creation_date: before.map_or(now, |before| now.max(before.room_date.next())),
            },
            person_version: person.version,
            version: before.map_or(0, |before| before.version) + 1,
            created_by: command.clone(),
            recent: before.map_or_else(RecentCommands::default, |before| before.recent.clone()),
            former,
        })
    }

    pub fn edited(&self, title: &Text, command: &CommandId) -> Self {
        let mut room = self.next();
        room.public.title = title.clone();
        room.recent.remember([command.clone()], Timestamp::now());
        room
    }

    pub fn renamed(&self, person: &Person) -> Self {
        let mut room = self.next();
        room.public.person_name = person.name.clone();
        room.person_version = person.version;
        room
    }

    pub fn counting(&self, booking_count: u64) -> Self {
        let mut room = self.next();
        room.public.booking_count = booking_count;
        room
    }

    pub fn deleted(&self) -> DeletedRoom {
        DeletedRoom {
            id: self.public.id.clone(),
            room_id: self.public.room_id.clone(),
            person_id: self.public.person_id.clone(),
            version: self.version + 1,
            room_date: self.public.creation_date,
            recent: self.recent.clone(),
            former: self.former.clone(),
            ttl: TTL_SECONDS,
        }
    }

    fn next(&self) -> Self {
        Self { version: self.version + 1, former: self.former.unexpired(), ..self.clone() }
    }

    /// Returns the copy of the room under this id.
    pub fn copy(&self, id: String) -> RoomCopy {
        RoomCopy { public: PublicRoom { id, ..self.public.clone() }, version: self.version }
    }
}

impl DeletedRoom {
    /// Returns the tombstone of the copy beside a person.
    pub fn copy(&self, id: String, person_id: PersonId, version: u64) -> Self {
        let recent = RecentCommands::default();
        let former = FormerOwners::default();
        Self { id, person_id, version, recent, former, ..self.clone() }
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
        let text =
            |booking: &Self| (booking.public.person_id.clone(), booking.public.purpose.clone());
        text(self) == text(other)
    }
}
