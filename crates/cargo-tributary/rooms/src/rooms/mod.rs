//! Meeting rooms and their bookings, of which no two are in one room at one time.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `rooms` | a room | the room with the times of its coming bookings; the bookings, and tombstones of cancelled ones |
//! | `people` | a person | copies of the person's bookings with the names of their rooms, by the change feed |
//! | `booking-counts` | a person | the number of bookings, by the change feed |

mod functions;
pub mod model;
pub mod projections;

use std::sync::Arc;

use tributary_functions::prelude::*;

use self::{
    model::RoomFamily,
    projections::{BookingCopies, BookingCounts, RoomNames},
};

/// The containers of the rooms. Cloning is cheap.
#[derive(Clone)]
struct Stores {
    rooms: Container,
    people: Container,
    counts: Container,
    bookings: CountedChildren<RoomFamily>,
}

/// Returns the rooms as a domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let [rooms, people, counts] =
        ["rooms", "people", "booking-counts"].map(|id| context.cosmos.container(id));
    let bookings = CountedChildren::new(rooms.clone());
    let function = "AuditBookings";
    let sundays = "0 0 3 * * 0";
    Ok(Domain {
        projections: vec![
            Arc::new(CopyProjection::<BookingCopies>::new(&rooms, &people)),
            Arc::new(AggregateProjection::<BookingCounts>::new(&rooms, &counts)),
            Arc::new(FanOutProjection::new(RoomNames, &rooms, &people, context.background)),
            Arc::new(RepairProjection::<RoomNames>::new(&rooms, &people)),
        ],
        audit: Some(Audit::of_aggregate::<BookingCounts>(function, sundays, &rooms, &counts)),
        containers: vec![rooms.clone(), people.clone(), counts.clone()],
        http_functions: bind(functions::all(), &Stores { rooms, people, counts, bookings }),
        ..Domain::new("rooms")
    })
}
