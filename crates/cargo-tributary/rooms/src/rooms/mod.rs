//! Meeting rooms and their bookings, of which no two are in one room at one time.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `rooms` | a room | the room with the times of its coming bookings; the bookings, and tombstones of cancelled ones |
//! | `people` | a person | copies of the person's bookings with the names of their rooms, by the change feed |
//! | `booking-counts` | a person | the number of bookings, by the change feed |

mod functions;
mod model;
mod projections;

use std::sync::Arc;

use tributary_functions::{
    audit::{AggregateChecks, Audit},
    config::ConfigError,
    cosmos::{Container, Cosmos},
    domain::{Context, Domain, bind},
    engines::counted_children::CountedChildren,
    projection::{
        aggregate::AggregateProjection, copies::CopyProjection, fan_out::FanOutProjection,
    },
};

pub use self::{
    model::{
        Booking, BookingId, PersonId, PublicBooking, Room, RoomFamily, RoomId, RoomName, RoomsItem,
    },
    projections::{BookingCopies, BookingCounts, CopiedNames, RoomNames},
};

/// The containers of the rooms. Cloning is cheap.
#[derive(Clone)]
pub struct Stores {
    rooms: Container,
    people: Container,
    counts: Container,
    bookings: CountedChildren<RoomFamily>,
}

impl Stores {
    /// Returns the rooms in a database.
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        let [rooms, people, counts] =
            ["rooms", "people", "booking-counts"].map(|id| cosmos.container(id));
        let bookings = CountedChildren::new(rooms.clone());
        Self { rooms, people, counts, bookings }
    }
}

/// Returns the rooms as a domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let rooms = Stores::new(context.cosmos);
    let audited = BookingCounts(rooms.clone());
    let checks = move || AggregateChecks::new(audited.clone());
    Ok(Domain {
        http_functions: bind(functions::all(), &rooms),
        projections: vec![
            Arc::new(CopyProjection(BookingCopies(rooms.clone()))),
            Arc::new(AggregateProjection(BookingCounts(rooms.clone()))),
            Arc::new(FanOutProjection::new(RoomNames(rooms.clone()), context.background)),
            Arc::new(CopiedNames(RoomNames(rooms.clone()))),
        ],
        audit: Some(Audit::new("AuditBookings", "0 0 3 * * 0", checks)),
        containers: vec![rooms.rooms, rooms.people, rooms.counts],
        ..Domain::new("rooms")
    })
}
