//! The projections under the proof: late, duplicate and out-of-order deliveries, to two instances, one of
//! which is killed.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};
use tributary_functions::prelude::*;
use tributary_testing::proof::{self, Sources, Targets};

use my_app::rooms::{
    model::{
        Booking, BookingId, PeopleItem, PersonId, PublicBooking, Room, RoomId, RoomName, RoomsItem,
    },
    projections::{BookingCopies, BookingCounts, RoomNames},
};

use crate::App;

fn room(number: u8) -> Room {
    let name = RoomName::parse("Room 1".to_owned()).unwrap();
    Room::new(RoomId::parse(format!("r{number}")).unwrap(), name)
}

/// A booking of a room, as the command writes it.
fn booking(number: u8, person: u8, room: &Room) -> Booking {
    let now = Timestamp::now();
    let public = PublicBooking {
        id: BookingId::parse(format!("b{number}")).unwrap(),
        room_id: room.public.room_id.clone(),
        person_id: PersonId::parse(format!("p{person}")).unwrap(),
        starts_at: now,
        ends_at: now.next(),
    };
    Booking::new(public).named(room)
}

/// Bookings: each is made once, and may be cancelled.
#[derive(Default)]
struct Bookings(BTreeMap<u8, RoomsItem>);

impl Sources for Bookings {
    type App = App;
    const CONTAINER: &'static str = "rooms";
    const PARTITION_KEY: &'static str = "roomId";

    fn write(&mut self, source: u8, owner: u8) -> Value {
        let new = || booking(source, owner, &room(source)).into();
        json!(self.0.entry(source).or_insert_with(new))
    }

    fn delete(&mut self, source: u8) -> Option<Value> {
        let item = self.0.get_mut(&source)?;
        let RoomsItem::Booking(booking) = item else { return None };
        *item = RoomsItem::CancelledBooking(booking.clone().cancelled());
        Some(json!(item))
    }
}

#[test]
fn the_copies_are_true_whatever_is_delivered() {
    proof::copies::<Bookings, BookingCopies>("people").unwrap();
}

#[test]
fn the_counts_are_true_whatever_is_delivered() {
    proof::aggregate::<Bookings, BookingCounts>("booking-counts").unwrap();
}

/// Rooms that get other names.
#[derive(Default)]
struct Names(BTreeMap<u8, Room>);

impl Sources for Names {
    type App = App;
    const CONTAINER: &'static str = "rooms";
    const PARTITION_KEY: &'static str = "roomId";

    fn write(&mut self, source: u8, _owner: u8) -> Value {
        let room = match self.0.get(&source) {
            None => room(source),
            Some(room) => {
                let name = RoomName::parse(format!("Room {}", room.name_version + 1)).unwrap();
                room.clone().renamed(name)
            }
        };
        self.0.insert(source, room.clone());
        json!(RoomsItem::Room(room))
    }
}

/// The copies of bookings of these rooms.
struct Copies;

impl Targets for Copies {
    type Sources = Names;
    const CONTAINER: &'static str = "people";
    const PARTITION_KEY: &'static str = "personId";
    const COPIED: &'static [&'static str] = &["roomName", "nameVersion"];

    fn create(target: u8, source: &Value, _tombstone: Option<&Value>) -> Value {
        let Ok(RoomsItem::Room(room)) = serde_json::from_value(source.clone()) else {
            unreachable!("the sources are rooms")
        };
        json!(PeopleItem::Booking(booking(target, target, &room)))
    }

    fn version(target: &Value) -> u64 {
        target["nameVersion"].as_u64().unwrap()
    }
}

#[test]
fn every_copy_has_the_name_of_its_room_in_the_end() {
    let containers = |cosmos: &Arc<Cosmos>| ["rooms", "people"].map(|id| cosmos.container(id));
    proof::fan_out::<Copies>(
        |cosmos, background| {
            let [rooms, people] = containers(cosmos);
            Arc::new(FanOutProjection::new(RoomNames, &rooms, &people, background))
        },
        |cosmos, _| {
            let [rooms, people] = containers(cosmos);
            Arc::new(RepairProjection::<RoomNames>::new(&rooms, &people))
        },
    )
    .unwrap();
}
