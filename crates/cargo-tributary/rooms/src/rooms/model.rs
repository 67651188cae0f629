//! Rooms, bookings and people as they are stored.

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
#[item(
    RoomsItem, id = room_id, version, created_by, former_owners(former = person_id),
    texts(title, person_name),
    public(
        /// A room as the API shows it, with the name of its person.
        struct PublicRoom {
            id, room_id, person_id, person_name, title, booking_count, creation_date
        }
    ),
    // A room in the place of the deleted one is newer.
    tombstone(struct DeletedRoom { id, room_id, person_id, room_date: Timestamp = creation_date })
)]
pub struct Room {
    /// Equal to `roomId`, but in copies, which may need an id of their own.
    #[schemars(with = "RoomId")]
    pub id: String,
    pub room_id: RoomId,
    pub person_id: PersonId,
    pub person_name: Text,
    pub title: Text,
    pub booking_count: u64,
    pub creation_date: Timestamp,
    /// The version of the person that `personName` was taken from.
    pub person_version: u64,
}

/// A booking of a room.
#[item(RoomsItem, partition = room_id, id = id, public(
    /// A booking as the API shows it.
    struct PublicBooking { id, room_id, person_id, purpose, creation_date }
))]
pub struct Booking {
    pub id: BookingId,
    pub room_id: RoomId,
    pub person_id: PersonId,
    pub purpose: Purpose,
    pub creation_date: Timestamp,
    /// The version of the room that counted the booking first; 0 until one has.
    pub room_version: u64,
}

/// An item of the container `people`: a person, and copies of rooms.
#[items(partition_key = "personId", sources(Person, Renaming))]
pub enum PeopleItem {
    Person(Person),
    Renaming(Continuation),
    Room(RoomCopy),
    DeletedRoom(DeletedRoom),
}

/// The copy of a room, in the version of the room.
#[item(PeopleItem, partition = person_id, id = id, version)]
pub struct RoomCopy {
    #[serde(flatten)]
    pub public: PublicRoom,
}

#[item(PeopleItem, id = person_id, version, public(
    /// A person as the API shows one.
    struct PublicPerson { person_id, name }
))]
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
    /// Returns a new room, in the place of a deleted one if there was one; `None` if that had too
    /// many owners.
    pub fn new(
        room_id: RoomId,
        title: &Text,
        person: &Person,
        before: Option<&DeletedRoom>,
        command: &CommandId,
    ) -> Option<Self> {
        let id = room_id.to_string();
        let Person { person_id, name, version, .. } = person.clone();
        let now = Timestamp::now();
        let date = before.map_or(now, |before| now.max(before.room_date.next()));
        Self::first(id, room_id, person_id, name, title.clone(), 0, date, version, command)
            .replacing(before)
    }

    pub fn retitled(&self, title: &Text) -> Self {
        Self { title: title.clone(), ..self.next() }
    }

    pub fn renamed(&self, person: &Person) -> Self {
        let (person_name, person_version) = (person.name.clone(), person.version);
        Self { person_name, person_version, ..self.next() }
    }

    pub fn counting(&self, booking_count: u64) -> Self {
        Self { booking_count, ..self.next() }
    }

    /// Returns the copy of the room under this id.
    pub fn copy(&self, id: String) -> RoomCopy {
        RoomCopy { public: PublicRoom { id, ..self.public() }, version: self.version }
    }
}

impl Booking {
    /// Returns a booking that is still to be counted.
    pub fn new(room_id: RoomId, id: BookingId, text: BookingText) -> Self {
        let BookingText { person_id, purpose } = text;
        let creation_date = Timestamp::now();
        Self { id, room_id, person_id, purpose, creation_date, room_version: 0 }
    }
}
