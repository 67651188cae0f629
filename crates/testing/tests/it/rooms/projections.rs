//! What the change feed keeps true: copies of rooms, counts of rooms, names of people in rooms.

use tributary_functions::{
    cosmos::{Container, Query, StoreError},
    engines::tombstone::{FormerOwner, FormerOwners},
    projection::{
        Effect, Origin, Projection, VersionedCopy,
        aggregate::{Aggregate, Contribution},
        copies::Copies,
        fan_out::{FanOut, Update, repair},
    },
    values::may_be_rewritten_by_host,
};

use super::{DeletedRoom, PeopleItem, Person, PersonId, Room, RoomsItem, Stores, model::Renaming};

fn origin(change: &RoomsItem) -> Origin {
    let (id, version) = match change {
        RoomsItem::Room(room) => (&room.room_id, room.version),
        RoomsItem::DeletedRoom(tombstone) => (&tombstone.room_id, tombstone.version),
    };
    Origin::new(id.as_str(), id.as_str(), version)
}

/// The rooms beside their people.
pub(crate) struct RoomCopies(pub(crate) Stores);

impl Copies for RoomCopies {
    const FUNCTION: &'static str = "RoomCopies";
    const PARTITION_KEY: &'static str = "roomId";
    type Change = RoomsItem;
    type Copy = PeopleItem;

    fn sources(&self) -> &Container {
        &self.0.rooms
    }

    fn copies(&self) -> &Container {
        &self.0.people
    }

    fn origin(change: &RoomsItem) -> Option<Origin> {
        Some(origin(change))
    }

    fn copies_of(change: &RoomsItem) -> Vec<VersionedCopy<PeopleItem>> {
        let (person, deleted) = match change {
            RoomsItem::Room(room) => (&room.person_id, room.deleted()),
            RoomsItem::DeletedRoom(tombstone) => (&tombstone.person_id, tombstone.clone()),
        };
        // A room may have the id of its person.
        let id = format!("room:{}", deleted.room_id);
        let tombstone = |person_id: PersonId, version| {
            PeopleItem::DeletedRoom(DeletedRoom {
                id: id.clone(),
                person_id,
                version,
                former: FormerOwners::default(),
                ..deleted.clone()
            })
        };
        let copy = |partition: &str, version, item| VersionedCopy {
            partition: partition.to_owned(),
            id: id.clone(),
            version,
            item,
        };
        let version = origin(change).version;
        let item = match change {
            RoomsItem::Room(room) => {
                let former = FormerOwners::default();
                PeopleItem::Room(Room { id: id.clone(), former, ..room.clone() })
            }
            RoomsItem::DeletedRoom(_) => tombstone(person.clone(), version),
        };
        let former = deleted.former.iter().filter_map(|FormerOwner { id: owner, version }| {
            let item = tombstone(PersonId::parse(owner.clone()).ok()?, *version);
            Some(copy(owner, *version, item))
        });
        [copy(person.as_str(), version, item)].into_iter().chain(former).collect()
    }

    fn may_be_rewritten(change: &RoomsItem) -> bool {
        matches!(change, RoomsItem::Room(room) if may_be_rewritten_by_host(&room.title))
    }
}

/// The numbers of rooms, by person.
pub(crate) struct RoomCounts(pub(crate) Stores);

impl Aggregate for RoomCounts {
    const FUNCTION: &'static str = "RoomCounts";
    const PARTITION_KEY: &'static str = "roomId";
    type Change = RoomsItem;

    fn sources(&self) -> &Container {
        &self.0.rooms
    }

    fn totals(&self) -> &Container {
        &self.0.counts
    }

    fn origin(change: &RoomsItem) -> Option<Origin> {
        Some(origin(change))
    }

    fn contribution(change: &RoomsItem) -> Option<Contribution> {
        match change {
            RoomsItem::Room(room) => Some(Contribution::one(room.person_id.as_str())),
            RoomsItem::DeletedRoom(_) => None,
        }
    }
}

/// The names of people, in their rooms.
pub(crate) struct NamesInRooms(pub(crate) Stores);

impl FanOut for NamesInRooms {
    const FUNCTION: &'static str = "NamesInRooms";
    const PARTITION_KEY: &'static str = "personId";
    type Change = PeopleItem;
    type Source = Person;
    type Target = RoomsItem;

    fn sources(&self) -> &Container {
        &self.0.people
    }

    fn targets(&self) -> &Container {
        &self.0.rooms
    }

    fn origin(change: &PeopleItem) -> Option<Origin> {
        let (id, version) = match change {
            PeopleItem::Person(person) => (&person.person_id, person.version),
            PeopleItem::Renaming(renaming) => (&renaming.person_id, renaming.version),
            PeopleItem::Room(_) | PeopleItem::DeletedRoom(_) => return None,
        };
        Some(Origin::new(id.as_str(), id.as_str(), version))
    }

    fn source(item: PeopleItem) -> Option<Person> {
        if let PeopleItem::Person(person) = item { Some(person) } else { None }
    }

    fn outdated(person: &Person) -> Result<Query, StoreError> {
        let text = "SELECT * FROM c WHERE c.personId = @person AND c.personVersion < @version";
        let query = Query::from(text).with_parameter("@person", &person.person_id)?;
        Ok(query.with_parameter("@version", person.version)?)
    }

    fn update(target: &RoomsItem, person: &Person) -> Option<Update<RoomsItem>> {
        let RoomsItem::Room(room) = target else { return None };
        let is_older = room.person_id == person.person_id && room.person_version < person.version;
        let (partition, id) = (room.room_id.as_str(), room.id.as_str());
        is_older.then(|| Update::new(partition, id, RoomsItem::Room(room.renamed(person))))
    }

    fn continuation(person: &Person) -> (String, PeopleItem) {
        (Renaming::ID.into(), PeopleItem::Renaming(Renaming::of(person)))
    }
}

/// Repairs the names in rooms that were created during a rename.
pub(crate) struct RoomsIntegrity(pub(crate) Stores);

impl Projection for RoomsIntegrity {
    const FUNCTION: &'static str = "RoomsIntegrity";
    const PARTITION_KEY: &'static str = "roomId";
    type Change = RoomsItem;

    fn container(&self) -> &Container {
        &self.0.rooms
    }

    fn source(change: &RoomsItem) -> Option<(String, u64)> {
        let origin = origin(change);
        Some((origin.name(), origin.version))
    }

    async fn apply(&self, change: &RoomsItem) -> Result<Effect, StoreError> {
        let RoomsItem::Room(room) = change else { return Ok(Effect::Unchanged) };
        let names = NamesInRooms(self.0.clone());
        let (person, place) = (room.person_id.as_str(), (room.room_id.as_str(), room.id.as_str()));
        repair(&names, (person, person), room.person_version, place).await
    }
}
