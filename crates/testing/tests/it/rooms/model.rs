//! Rooms and people as they are stored.

use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::tombstone::{FormerOwners, TTL_SECONDS},
    http::{Form, FromForm},
    values::{check_id, check_length, checked_text},
};

checked_text!(
    /// The id of a room.
    RoomId,
    "blue",
    |text| check_id(&text).map(|()| text)
);

checked_text!(
    /// The id of a person.
    PersonId,
    "ann",
    |text| check_id(&text).map(|()| text)
);

checked_text!(
    /// A title or a name: 1 to 100 characters.
    Text,
    "The blue room",
    |text| check_length(&text, 1, 100).map(|()| text)
);

/// What a caller writes of a person.
pub(crate) struct Name(pub(crate) Text);

impl FromForm for Name {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.text("name", Text::parse).map(Self)
    }
}

/// What a caller writes of a room.
pub(crate) struct RoomText {
    pub(crate) person_id: PersonId,
    pub(crate) title: Text,
}

impl FromForm for RoomText {
    fn from_form(form: &mut Form) -> Option<Self> {
        let person_id = form.text("personId", PersonId::parse);
        let title = form.text("title", Text::parse);
        Some(Self { person_id: person_id?, title: title? })
    }
}

/// An item of the container `rooms`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum RoomsItem {
    Room(Room),
    DeletedRoom(DeletedRoom),
}

/// A room, with the name of its person.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Room {
    pub(crate) id: String,
    pub(crate) room_id: RoomId,
    pub(crate) person_id: PersonId,
    pub(crate) person_name: Text,
    /// The version of the person that `personName` was taken from.
    pub(crate) person_version: u64,
    pub(crate) title: String,
    /// Raised by each write.
    pub(crate) version: u64,
    #[serde(default, skip_serializing_if = "FormerOwners::is_empty")]
    pub(crate) former: FormerOwners,
}

/// The tombstone of a room, or of the copy of one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeletedRoom {
    pub(crate) id: String,
    pub(crate) room_id: RoomId,
    pub(crate) person_id: PersonId,
    pub(crate) version: u64,
    #[serde(default, skip_serializing_if = "FormerOwners::is_empty")]
    pub(crate) former: FormerOwners,
    pub(crate) ttl: u32,
}

/// An item of the container `people`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum PeopleItem {
    Person(Person),
    Renaming(Renaming),
    Room(Room),
    DeletedRoom(DeletedRoom),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Person {
    pub(crate) id: PersonId,
    pub(crate) person_id: PersonId,
    pub(crate) name: Text,
    /// Raised by each write.
    pub(crate) version: u64,
}

/// The continuation of a rename.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Renaming {
    id: String,
    pub(crate) person_id: PersonId,
    pub(crate) version: u64,
    ttl: u32,
}

impl Person {
    pub(crate) fn new(id: PersonId, name: Text, before: Option<&Self>) -> Self {
        let version = before.map_or(0, |before| before.version) + 1;
        Self { id: id.clone(), person_id: id, name, version }
    }
}

impl Renaming {
    /// No id of a person has a colon.
    pub(crate) const ID: &'static str = "person:renaming";

    pub(crate) fn of(person: &Person) -> Self {
        let (person_id, version) = (person.person_id.clone(), person.version);
        Self { id: Self::ID.into(), person_id, version, ttl: TTL_SECONDS }
    }
}

impl Room {
    /// Returns a new room, in the place of a deleted one if there was one.
    pub(crate) fn new(
        room_id: RoomId,
        title: &Text,
        person: &Person,
        before: Option<&DeletedRoom>,
    ) -> Self {
        let now = person.person_id.as_str();
        Self {
            id: room_id.to_string(),
            room_id,
            person_id: person.person_id.clone(),
            person_name: person.name.clone(),
            person_version: person.version,
            title: title.to_string(),
            version: before.map_or(0, |before| before.version) + 1,
            former: before.map_or_else(FormerOwners::default, |before| {
                before.former.followed_by(before.person_id.as_str(), before.version, now)
            }),
        }
    }

    pub(crate) fn edited(&self, title: &Text) -> Self {
        Self { title: title.to_string(), version: self.version + 1, ..self.clone() }
    }

    pub(crate) fn renamed(&self, person: &Person) -> Self {
        let (person_name, person_version) = (person.name.clone(), person.version);
        Self { person_name, person_version, version: self.version + 1, ..self.clone() }
    }

    pub(crate) fn deleted(&self) -> DeletedRoom {
        DeletedRoom {
            id: self.id.clone(),
            room_id: self.room_id.clone(),
            person_id: self.person_id.clone(),
            version: self.version + 1,
            former: self.former.clone(),
            ttl: TTL_SECONDS,
        }
    }
}
