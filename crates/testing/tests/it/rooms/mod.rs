//! Meeting rooms, each of a person: the domain of the framework's own stories, with each shape of
//! projections that a small app needs.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `rooms` | a room | the room, or the tombstone of a deleted one |
//! | `people` | a person | the person, and copies of the person's rooms, by the change feed |
//! | `room-counts` | a person | the number of the person's rooms, by the change feed |

mod functions;
mod model;
mod projections;

use std::sync::Arc;

use tributary_functions::{
    config::ConfigError,
    cosmos::{Container, Cosmos},
    domain::{Context, Domain, bind},
    projection::{
        aggregate::AggregateProjection, copies::CopyProjection, fan_out::FanOutProjection,
    },
};

pub(crate) use self::{
    model::{DeletedRoom, PeopleItem, Person, PersonId, Room, RoomId, RoomsItem, Text},
    projections::{NamesInRooms, RoomCopies, RoomCounts, RoomsIntegrity},
};

/// The containers of the rooms in a database. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct Stores {
    rooms: Container,
    people: Container,
    counts: Container,
}

impl Stores {
    pub(crate) fn new(cosmos: &Arc<Cosmos>) -> Self {
        Self {
            rooms: cosmos.container("rooms"),
            people: cosmos.container("people"),
            counts: cosmos.container("room-counts"),
        }
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
            Arc::new(RoomsIntegrity(stores.clone())),
            Arc::new(FanOutProjection::new(NamesInRooms(stores.clone()), background)),
        ],
        containers: vec![stores.rooms, stores.people, stores.counts],
        ..Domain::new("rooms")
    })
}
