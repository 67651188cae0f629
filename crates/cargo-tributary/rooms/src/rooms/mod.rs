//! Meeting rooms, each of a person, and their bookings.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `rooms` | a room | the room or its tombstone; its bookings, which the room counts |
//! | `people` | a person | the person, and copies of the person's rooms, by the change feed |
//! | `room-counts` | a person | the number of the person's rooms, by the change feed |
//! | `newest-rooms` | `room` | the 10 newest rooms, by the change feed |

mod functions;
mod model;
mod projections;

use std::{convert::Infallible, sync::Arc};

use tributary_functions::{prelude::*, projection::window::WindowProjection};

pub use self::{
    model::{
        Booking, BookingId, DeletedRoom, Name, PeopleItem, Person, PersonId, Room, RoomId,
        RoomText, RoomsItem, Text,
    },
    projections::{
        BookingsOfDeletedRooms, NamesInRooms, NewestRooms, RoomCopies, RoomCounts, RoomsIntegrity,
    },
};

/// The containers of the rooms in a database. Cloning is cheap.
#[derive(Clone)]
pub struct Stores {
    rooms: Container,
    people: Container,
    counts: Container,
    newest: Container,
    bookings: CountedChildren<RoomFamily>,
}

impl Stores {
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        let rooms = cosmos.container("rooms");
        Self {
            people: cosmos.container("people"),
            counts: cosmos.container("room-counts"),
            newest: cosmos.container("newest-rooms"),
            bookings: CountedChildren::new(rooms.clone()),
            rooms,
        }
    }

    pub async fn person(&self, id: &PersonId) -> ReadResult<Person> {
        self.people.item(id, id).await
    }
}

/// A room with its bookings.
struct RoomFamily;

impl Family for RoomFamily {
    const PARENT: &'static str = "room";
    const CHILD: &'static str = "booking";
    type Key = RoomId;
    type Item = RoomsItem;
    type Parent = Room;
    type Child = Booking;
    type ChildId = BookingId;
    type Edit = Infallible;
    type Refused = Infallible;

    fn child_item(booking: &Booking, room: &Room) -> RoomsItem {
        Booking { room_version: room.version, ..booking.clone() }.into()
    }

    fn child_id(booking: &Booking) -> BookingId {
        booking.id.clone()
    }

    fn after(room: &Room, changes: &Changes<'_, Self>) -> Room {
        room.counting(changes.count(room.booking_count, |_| true))
    }

    fn is_created_once(_id: &BookingId) -> bool {
        true
    }
}

/// Returns the rooms as a domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let stores = Stores::new(context.cosmos);
    let Stores { rooms, people, counts, newest, .. } = stores.clone();
    let background = context.background;
    let bookings = BookingsOfDeletedRooms(rooms.in_background());
    Ok(Domain {
        http_functions: bind(functions::table(), &stores),
        projections: vec![
            Arc::new(CopyProjection::<RoomCopies>::new(&rooms, &people)),
            Arc::new(AggregateProjection::<RoomCounts>::new(&rooms, &counts)),
            Arc::new(WindowProjection::<NewestRooms>::new(&rooms, &newest)),
            Arc::new(FanOutProjection::new(NamesInRooms, &people, &rooms, background)),
            Arc::new(RoomsIntegrity::new(bookings, &people, background)),
        ],
        containers: vec![rooms, people, counts, newest],
        ..Domain::new("rooms")
    })
}
