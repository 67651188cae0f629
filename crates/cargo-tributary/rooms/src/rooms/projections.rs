//! The projections: copies of rooms, counts of rooms, the newest rooms, names of people in
//! rooms, and no booking of a deleted room.

use tributary_functions::{
    prelude::*,
    projection::{fan_out::older_copies, removal::Removal, window::Window},
};

use super::model::{DeletedRoom, PeopleItem, Person, PersonId, Room, RoomCopy, RoomId, RoomsItem};

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
            let person_id = PersonId::parse(person.to_owned()).ok()?;
            let (recent, former) = Default::default();
            let id = id.clone();
            Some(DeletedRoom { id, person_id, version, recent, former, ..deleted.clone() }.into())
        })
    }
}

/// The numbers of rooms, by person.
pub struct RoomCounts;

impl Aggregate for RoomCounts {
    const FUNCTION: &'static str = "RoomCounts";
    type Change = RoomsItem;

    fn contributions(change: &RoomsItem) -> impl IntoIterator<Item = Contribution> {
        let RoomsItem::Room(room) = change else { return None };
        Some(Contribution::new(room.person_id.as_str(), 1))
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
        room.creation_date
    }

    fn copy(room: &Room) -> RoomCopy {
        room.copy(room.id.clone())
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
        let is_older = room.person_id == person.person_id && room.person_version < person.version;
        is_older.then(|| Update::from_item(room.renamed(person).into())).flatten()
    }
}

/// A room that is created during a rename has the old name.
impl Repairs for NamesInRooms {
    const REPAIRS: &'static str = "RoomsIntegrity";

    fn copied(target: &RoomsItem) -> Option<Origin> {
        let RoomsItem::Room(room) = target else { return None };
        Some(Origin::root(&room.person_id, room.person_version))
    }
}

/// The bookings that the deleted rooms of a container have left.
pub struct BookingsOfDeletedRooms(pub Container);

impl Removal for BookingsOfDeletedRooms {
    type Tombstone = DeletedRoom;

    fn container(&self) -> &Container {
        &self.0
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

/// Repairs the names in rooms that were created during a rename, and removes the bookings of
/// deleted rooms.
pub type RoomsIntegrity = IntegrityProjection<NamesInRooms, BookingsOfDeletedRooms>;
