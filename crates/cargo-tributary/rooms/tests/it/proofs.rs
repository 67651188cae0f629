//! The projections under the proof: late, duplicate and out-of-order deliveries, to two instances, one of
//! which is killed. And what the proof finds.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;
use tributary_functions::{
    cosmos::Cosmos,
    projection::{
        AnyProjection, Background, aggregate::AggregateProjection, fan_out::FanOutProjection,
    },
    values::CommandId,
};
use tributary_testing::proof::{self, Sources, Targets};

use my_app::rooms::{
    BookingsOfDeletedRooms, DeletedRoom, NamesInRooms, NewestRooms, PeopleItem, Person, PersonId,
    Room, RoomCopies, RoomCounts, RoomId, RoomsIntegrity, RoomsItem, Text,
};

use crate::App;

fn text(text: &str) -> Text {
    Text::parse(text.to_owned()).unwrap()
}

fn person(number: u8, before: Option<&Person>) -> Person {
    let version = before.map_or(0, |before| before.version) + 1;
    let id = PersonId::parse(format!("person{number}")).unwrap();
    Person::new(id, text(&format!("Person {version}")), before)
}

fn new_room(id: RoomId, owner: &Person, before: Option<&DeletedRoom>) -> Room {
    Room::new(id, &text("T"), owner, before, &CommandId::fresh()).unwrap()
}

fn edited(room: &Room) -> Room {
    room.retitled(&text(&format!("Title {}", room.version)))
}

/// Rooms, as the commands write them.
#[derive(Default)]
struct RoomWriter(HashMap<u8, RoomsItem>);

impl Sources for RoomWriter {
    type App = App;

    const CONTAINER: &'static str = "rooms";
    const PARTITION_KEY: &'static str = "roomId";

    fn write(&mut self, source: u8, owner: u8) -> Value {
        let id = RoomId::parse(format!("room{source}")).unwrap();
        let owner = person(owner, None);
        let room = match self.0.get(&source) {
            Some(RoomsItem::Room(room)) => edited(room),
            Some(RoomsItem::DeletedRoom(before)) => new_room(id, &owner, Some(before)),
            _ => new_room(id, &owner, None),
        };
        self.set(source, RoomsItem::Room(room))
    }

    fn delete(&mut self, source: u8) -> Option<Value> {
        let Some(RoomsItem::Room(room)) = self.0.get(&source) else { return None };
        let tombstone = room.tombstone();
        Some(self.set(source, RoomsItem::DeletedRoom(tombstone)))
    }
}

impl RoomWriter {
    fn set(&mut self, source: u8, item: RoomsItem) -> Value {
        let state = serde_json::to_value(&item).unwrap();
        self.0.insert(source, item);
        state
    }
}

/// People, as the commands rename them.
#[derive(Default)]
struct People(HashMap<u8, Person>);

impl Sources for People {
    type App = App;

    const CONTAINER: &'static str = "people";
    const PARTITION_KEY: &'static str = "personId";

    fn write(&mut self, source: u8, _owner: u8) -> Value {
        let person = person(source, self.0.get(&source));
        self.0.insert(source, person.clone());
        serde_json::to_value(PeopleItem::Person(person)).unwrap()
    }
}

/// The rooms of the people.
struct RoomsOfPeople;

impl Targets for RoomsOfPeople {
    type Sources = People;

    const CONTAINER: &'static str = "rooms";
    const PARTITION_KEY: &'static str = "roomId";
    const COPIED: &'static [&'static str] = &["personName", "personVersion"];

    fn create(target: u8, source: &Value, tombstone: Option<&Value>) -> Value {
        let person: Person = serde_json::from_value(source.clone()).unwrap();
        let id = RoomId::parse(format!("room{target}")).unwrap();
        let tombstone = tombstone.map(|it| serde_json::from_value(it.clone()).unwrap());
        let room = new_room(id, &person, tombstone.as_ref());
        serde_json::to_value(RoomsItem::Room(room)).unwrap()
    }

    fn version(target: &Value) -> u64 {
        target["personVersion"].as_u64().unwrap()
    }

    fn edit(target: &Value) -> Option<Value> {
        let room: Room = serde_json::from_value(target.clone()).unwrap();
        Some(serde_json::to_value(RoomsItem::Room(edited(&room))).unwrap())
    }

    fn tombstone(target: &Value) -> Option<Value> {
        let room: Room = serde_json::from_value(target.clone()).unwrap();
        Some(serde_json::to_value(RoomsItem::DeletedRoom(room.tombstone())).unwrap())
    }
}

fn names(cosmos: &Arc<Cosmos>, background: &Background) -> Arc<dyn AnyProjection> {
    let [people, rooms] = ["people", "rooms"].map(|id| cosmos.container(id));
    Arc::new(FanOutProjection::new(NamesInRooms, &people, &rooms, background))
}

#[test]
fn copies_end_as_their_definition_says() {
    proof::copies::<RoomWriter, RoomCopies>("people").unwrap();
}

#[test]
fn counts_end_as_their_definition_says() {
    proof::aggregate::<RoomWriter, RoomCounts>("room-counts").unwrap();
}

#[test]
fn the_newest_rooms_end_as_their_definition_says() {
    proof::window::<RoomWriter, NewestRooms>("newest-rooms").unwrap();
}

#[test]
fn names_end_as_the_people_have_them() {
    let repairs = |cosmos: &Arc<Cosmos>, background: &_| -> Arc<dyn AnyProjection> {
        let [people, rooms] = ["people", "rooms"].map(|id| cosmos.container(id));
        Arc::new(RoomsIntegrity::new(BookingsOfDeletedRooms(rooms), &people, background))
    };
    proof::fan_out::<RoomsOfPeople>(names, repairs).unwrap();
}

#[test]
fn the_proof_finds_a_name_that_no_projection_repairs() {
    // Another projection of `rooms`, which repairs nothing.
    let no_repairs = |cosmos: &Arc<Cosmos>, _: &_| -> Arc<dyn AnyProjection> {
        let [rooms, counts] = ["rooms", "room-counts"].map(|id| cosmos.container(id));
        Arc::new(AggregateProjection::<RoomCounts>::new(&rooms, &counts))
    };
    let error = proof::fan_out::<RoomsOfPeople>(names, no_repairs).unwrap_err();
    assert!(error.contains("has not the value of"), "{error}");
}
