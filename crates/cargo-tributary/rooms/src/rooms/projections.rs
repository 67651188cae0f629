//! The projections: copies of rooms, counts of rooms, the newest rooms, names of people in
//! rooms, and no booking of a deleted room.

use tributary_functions::{
    engines::tombstone::FormerOwner,
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

impl ChangeFeedItem for RoomsItem {
    const PARTITION_KEY: &'static str = "roomId";

    fn origin(&self) -> Option<Origin> {
        match self {
            Self::Room(room) => Some(Origin::root(&room.public.room_id, room.version)),
            Self::DeletedRoom(it) => Some(Origin::root(&it.room_id, it.version)),
            Self::Booking(_) => None,
        }
    }
}

impl ChangeFeedItem for PeopleItem {
    const PARTITION_KEY: &'static str = "personId";

    fn origin(&self) -> Option<Origin> {
        match self {
            Self::Person(person) => Some(Origin::root(&person.person_id, person.version)),
            Self::Renaming(continuation) => Some(continuation.origin()),
            Self::Room(_) | Self::DeletedRoom(_) => None,
        }
    }
}

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
            RoomsItem::Room(room) => (room.deleted(), Some(room)),
            RoomsItem::DeletedRoom(deleted) => (deleted.clone(), None),
            RoomsItem::Booking(_) => return Vec::new(),
        };
        let id = Self::id(&deleted.room_id);
        let copy = |person: &str, version, item| VersionedCopy {
            partition: person.to_owned(),
            id: id.clone(),
            version,
            item,
        };
        let tombstone = |person: &str, version| {
            let person_id = PersonId::parse(person.to_owned()).ok()?;
            let item = PeopleItem::DeletedRoom(deleted.copy(id.clone(), person_id, version));
            Some(copy(person, version, item))
        };
        let person = deleted.person_id.as_str();
        let own = match live {
            Some(room) => Some(copy(person, room.version, PeopleItem::Room(room.copy(id.clone())))),
            None => tombstone(person, deleted.version),
        };
        let former = deleted.former.iter();
        let former = former.filter_map(|FormerOwner { id, version, .. }| tombstone(id, *version));
        own.into_iter().chain(former).collect()
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

    fn contribution(change: &RoomsItem) -> Option<Contribution> {
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

    fn newest(at_most: u32) -> Result<Query, StoreError> {
        let query = Query::from(
            "SELECT TOP @capacity * FROM c WHERE c.type = 'room' ORDER BY c.creationDate DESC",
        );
        Ok(query.with_parameter("@capacity", at_most)?)
    }

    fn created_at(creation_date: Timestamp, at_most: u32) -> Result<Query, StoreError> {
        let query = Query::from(
            "SELECT TOP @capacity * FROM c WHERE c.type = 'room' AND c.creationDate = @date \
             ORDER BY c.id DESC",
        );
        let query = query.with_parameter("@capacity", at_most)?;
        Ok(query.with_parameter("@date", creation_date)?)
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
    type Item = RoomsItem;
    type Tombstone = DeletedRoom;

    fn container(&self) -> &Container {
        self.0
    }

    fn key_and_version(tombstone: &DeletedRoom) -> (&str, &str, u64) {
        let id = tombstone.room_id.as_str();
        (id, id, tombstone.version)
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

    fn tombstone(item: RoomsItem) -> Option<DeletedRoom> {
        item.try_into().ok()
    }

    fn item(tombstone: DeletedRoom) -> RoomsItem {
        tombstone.into()
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
