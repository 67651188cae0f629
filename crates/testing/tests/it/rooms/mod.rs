//! Meeting rooms, each of a person, and their bookings: the domain of the framework's own stories, with
//! each shape of projections and each engine that a small app needs.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `rooms` | a room | the room, or the tombstone of a deleted one; its bookings, which the room counts |
//! | `people` | a person | the person, and copies of the person's rooms, by the change feed |
//! | `room-counts` | a person | the number of the person's rooms, by the change feed |
//! | `newest-rooms` | `room` | the 10 newest rooms, by the change feed |

mod functions;
mod model;
mod projections;

use std::{convert::Infallible, sync::Arc};

use tributary_functions::{
    config::ConfigError,
    cosmos::{Container, Cosmos, Reads, StoreError, Stored, containers},
    domain::{Context, Domain, bind},
    engines::{
        command::ItemSlot,
        counted_children::{Changes, CountedChildren, Family},
    },
    projection::{
        aggregate::AggregateProjection, copies::CopyProjection, fan_out::FanOutProjection,
        window::WindowProjection,
    },
};

pub(crate) use self::{
    model::{
        Booking, BookingId, DeletedRoom, Name, PeopleItem, Person, PersonId, Room, RoomId,
        RoomText, RoomsItem, Text,
    },
    projections::{NamesInRooms, NewestRooms, RoomCopies, RoomCounts, RoomsIntegrity},
};

/// The containers of the rooms in a database. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct Stores {
    rooms: Container,
    people: Container,
    counts: Container,
    newest: Container,
    bookings: CountedChildren<RoomFamily>,
    reads: Reads,
}

containers!(Stores: rooms, people, counts, newest);

impl Stores {
    pub(crate) fn new(cosmos: &Arc<Cosmos>) -> Self {
        let rooms = cosmos.container("rooms");
        Self {
            people: cosmos.container("people"),
            counts: cosmos.container("room-counts"),
            newest: cosmos.container("newest-rooms"),
            bookings: CountedChildren::new(rooms.clone()),
            rooms,
            reads: Reads::Session,
        }
    }

    pub(crate) async fn person(&self, id: &PersonId) -> Result<Option<Stored<Person>>, StoreError> {
        let stored = self.people.read(id.as_str(), id.as_str()).await?;
        Ok(stored.and_then(|Stored { item, etag }| match item {
            PeopleItem::Person(item) => Some(Stored { item, etag }),
            _ => None,
        }))
    }

    async fn room(&self, id: &RoomId) -> Result<ItemSlot<Room, DeletedRoom>, StoreError> {
        let stored = self.rooms.read(id.as_str(), id.as_str()).await?;
        Ok(match stored {
            Some(Stored { item: RoomsItem::Room(item), etag }) => {
                ItemSlot::Live(Stored { item, etag })
            }
            Some(Stored { item: RoomsItem::DeletedRoom(item), etag }) => {
                ItemSlot::Deleted(Stored { item, etag })
            }
            _ => ItemSlot::Empty,
        })
    }

    async fn booking(
        &self,
        room_id: &RoomId,
        id: &BookingId,
    ) -> Result<Option<Stored<Booking>>, StoreError> {
        let stored = self.rooms.read(room_id.as_str(), id.as_str()).await?;
        Ok(stored.and_then(|Stored { item, etag }| match item {
            RoomsItem::Booking(item) => Some(Stored { item, etag }),
            _ => None,
        }))
    }
}

/// A room with its bookings.
struct RoomFamily;

impl Family for RoomFamily {
    type Key = RoomId;
    type Item = RoomsItem;
    type Parent = Room;
    type Child = Booking;
    type ChildId = BookingId;
    type Edit = Infallible;
    type Refused = Infallible;

    fn parent(item: RoomsItem) -> Option<Room> {
        if let RoomsItem::Room(room) = item { Some(room) } else { None }
    }

    fn parent_item(room: Room) -> RoomsItem {
        RoomsItem::Room(room)
    }

    fn child(item: RoomsItem) -> Option<Booking> {
        if let RoomsItem::Booking(booking) = item { Some(booking) } else { None }
    }

    fn child_item(booking: &Booking, room: &Room) -> RoomsItem {
        RoomsItem::Booking(Booking { room_version: room.version, ..booking.clone() })
    }

    fn child_id(booking: &Booking) -> BookingId {
        booking.public.id.clone()
    }

    fn after(room: &Room, changes: &Changes<'_, Self>) -> Room {
        room.counting(changes.count(room.public.booking_count, |_| true))
    }

    fn is_created_once(_id: &BookingId) -> bool {
        true
    }
}

/// Returns the rooms as a domain of the app.
pub(crate) fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let stores = Stores::new(context.cosmos);
    let background = context.background;
    Ok(Domain {
        http_functions: bind(functions::all(), &stores),
        projections: vec![
            Arc::new(CopyProjection(RoomCopies(stores.clone()))),
            Arc::new(AggregateProjection(RoomCounts(stores.clone()))),
            Arc::new(WindowProjection(NewestRooms(stores.clone()))),
            Arc::new(FanOutProjection::new(NamesInRooms(stores.in_background()), background)),
            Arc::new(RoomsIntegrity::new(&stores, background)),
        ],
        containers: vec![stores.rooms, stores.people, stores.counts, stores.newest],
        ..Domain::new("rooms")
    })
}
