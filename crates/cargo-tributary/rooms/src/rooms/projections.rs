//! The projections: copies of rooms, counts of rooms, the newest rooms, names of people in
//! rooms, and no booking of a deleted room.

use tributary_functions::{
    prelude::*,
    projection::{
        Background, Effect, Projection,
        copies::AuditedCopies,
        fan_out::older_copies,
        removal::{Removal, remove_for_a_slice},
        window::Window,
    },
};

use super::{
    DeletedRoom, PeopleItem, Person, PersonId, Room, RoomId, RoomsItem, Stores, model::RoomCopy,
};

fn may_be_rewritten(change: &RoomsItem) -> bool {
    let RoomsItem::Room(room) = change else { return false };
    [&room.public.title, &room.public.person_name]
        .into_iter()
        .any(|text| may_be_rewritten_by_host(text.as_str()))
}

/// The rooms beside their people.
pub struct RoomCopies;

impl RoomCopies {
    /// Returns the id of a copy: a room may have the id of its person.
    pub(super) fn id(room: &RoomId) -> String {
        format!("room:{room}")
    }
}

impl Copies for RoomCopies {
    const FUNCTION: &'static str = "RoomCopies";
    type Change = RoomsItem;
    type Copy = PeopleItem;

    fn copies_of(change: &RoomsItem) -> Vec<VersionedCopy<PeopleItem>> {
        let (deleted, live) = match change {
            RoomsItem::Room(room) => (room.tombstone(), Some(room)),
            RoomsItem::DeletedRoom(deleted) => (deleted.clone(), None),
            RoomsItem::Booking(_) => return Vec::new(),
        };
        let id = Self::id(&deleted.room_id);
        let live = live.map(|room| (room.copy(id.clone()).into(), room.version));
        let owner = (deleted.person_id.as_str(), deleted.version);
        VersionedCopy::of_owners(&id, (owner, live), &deleted.former, |person, version| {
            let person = PersonId::parse(person.to_owned()).ok()?;
            Some(deleted.copy(&id, person, version).into())
        })
    }

    fn may_be_rewritten(change: &RoomsItem) -> bool {
        may_be_rewritten(change)
    }
}

impl AuditedCopies for RoomCopies {
    const PARTITION_KEY: &'static str = "personId";

    fn source(copy: &PeopleItem) -> Option<(String, String)> {
        let room = match copy {
            PeopleItem::Room(copy) => &copy.public.room_id,
            PeopleItem::DeletedRoom(tombstone) => &tombstone.room_id,
            PeopleItem::Person(_) | PeopleItem::Renaming(_) => return None,
        };
        Some((room.to_string(), room.to_string()))
    }
}

/// The numbers of rooms, by person.
pub struct RoomCounts;

impl Aggregate for RoomCounts {
    const FUNCTION: &'static str = "RoomCounts";
    type Change = RoomsItem;

    fn contributions(change: &RoomsItem) -> impl IntoIterator<Item = Contribution> {
        match change {
            RoomsItem::Room(room) => Some(Contribution::new(room.public.person_id.as_str(), 1)),
            RoomsItem::DeletedRoom(_) | RoomsItem::Booking(_) => None,
        }
    }
}

/// The 10 newest rooms.
pub struct NewestRooms;

impl Window for NewestRooms {
    const FUNCTION: &'static str = "NewestRooms";
    const CAPACITY: u32 = 10;
    const PARTITION: &'static str = "room";
    type Change = RoomsItem;
    type Source = Room;
    type Copy = RoomCopy;

    fn source(change: &RoomsItem) -> Option<&Room> {
        if let RoomsItem::Room(room) = change { Some(room) } else { None }
    }

    fn creation_date(room: &Room) -> Timestamp {
        room.public.creation_date
    }

    fn copy(room: &Room) -> RoomCopy {
        room.copy(room.public.id.clone())
    }

    fn may_be_rewritten(change: &RoomsItem) -> bool {
        may_be_rewritten(change)
    }
}

/// The names of people, in their rooms.
pub struct NamesInRooms;

impl FanOut for NamesInRooms {
    const FUNCTION: &'static str = "NamesInRooms";
    type Change = PeopleItem;
    type Source = Person;
    type Target = RoomsItem;

    fn outdated(person: &Person) -> Result<Query, StoreError> {
        older_copies(("personId", "personVersion"), &person.person_id, person.version)
    }

    fn update(target: &RoomsItem, person: &Person) -> Option<Update<RoomsItem>> {
        let RoomsItem::Room(room) = target else { return None };
        let is_older =
            room.public.person_id == person.person_id && room.person_version < person.version;
        is_older.then(|| Update::from_item(room.renamed(person).into())).flatten()
    }
}

/// The bookings that the deleted rooms of a container have left.
pub(super) struct BookingsOfDeletedRooms<'a>(pub(super) &'a Container);

impl Removal for BookingsOfDeletedRooms<'_> {
    type Tombstone = DeletedRoom;

    fn container(&self) -> &Container {
        self.0
    }

    fn children(tombstone: &DeletedRoom, at_most: u32) -> Result<Query, StoreError> {
        let query = Query::from(
            "SELECT TOP @batch VALUE c.id FROM c \
             WHERE c.roomId = @room AND c.type = 'booking' AND c.roomVersion < @version",
        );
        let query = query.with_parameter("@batch", at_most)?;
        let query = query.with_parameter("@room", &tombstone.room_id)?;
        Ok(query.with_parameter("@version", tombstone.version)?)
    }
}

/// Repairs the names in rooms that were created during a rename, and removes the bookings of deleted
/// rooms.
pub struct RoomsIntegrity {
    rooms: Container,
    names: RepairProjection<NamesInRooms>,
    background: Background,
}

impl RoomsIntegrity {
    pub fn new(stores: &Stores, background: &Background) -> Self {
        let names = RepairProjection::new(&stores.people, &stores.rooms);
        Self { rooms: stores.rooms.clone(), names, background: background.clone() }
    }
}

impl Projection for RoomsIntegrity {
    const FUNCTION: &'static str = "RoomsIntegrity";
    type Change = RoomsItem;

    fn container(&self) -> &Container {
        &self.rooms
    }

    async fn apply(&self, change: &RoomsItem) -> Result<Effect, StoreError> {
        match change {
            RoomsItem::Room(room) => {
                let copied = Origin::root(&room.public.person_id, room.person_version);
                let id = room.public.room_id.as_str();
                self.names.repair(&copied, (id, id)).await
            }
            RoomsItem::DeletedRoom(tombstone) => {
                let rooms = self.rooms.in_background();
                let bookings = BookingsOfDeletedRooms(&rooms);
                remove_for_a_slice(&bookings, &self.background, tombstone).await
            }
            RoomsItem::Booking(_) => Ok(Effect::Unchanged),
        }
    }
}
