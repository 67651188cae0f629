//! Notes, whose copies beside their owners get another shape: the domain of the stories about a switch to a
//! successor.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `notes` | a note | the note, or the tombstone of a deleted one |
//! | `notes-of-owners` | an owner | the old copies: `title`, listed newest first |
//! | `headings-of-owners` | an owner | the new copies: `heading`, listed oldest first |

mod audit;
mod chaos;
mod cursors;
mod declaration;
mod functions;
mod model;
mod removal;
mod switch;

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tributary_functions::{
    app::{AppOptions, MAINTENANCE},
    audit::{Audit, CopiesChecks},
    config::ConfigError,
    cosmos::{Container, Cosmos},
    domain::{Context, Domain, bind},
    program::Program,
    projection::{
        ProjectionOptions, copies::CopyProjection, succession::Succession, succession::SwitchTimes,
    },
};
use tributary_testing::{Answer, AppUnderTest};

use self::model::{HeadingsOfOwners, NotesOfOwners};

/// The old projection and its successor.
const OLD: &str = "NotesOfOwners";
const NEW: &str = "HeadingsOfOwners";

/// The app of the notes.
pub(crate) struct Notes;

impl AppUnderTest for Notes {
    const ROOT: &'static str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/notes");

    fn program() -> Program {
        Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(domain)
    }
}

type World = tributary_testing::World<Notes>;

/// The containers of the notes in a database, and the generations of their copies. Cloning is cheap.
#[derive(Clone)]
struct Stores {
    notes: Container,
    old: Container,
    new: Container,
    of_owners: Succession,
}

impl Stores {
    fn new(cosmos: &Arc<Cosmos>, of_owners: Succession) -> Self {
        let [notes, old, new] =
            ["notes", "notes-of-owners", "headings-of-owners"].map(|id| cosmos.container(id));
        let of_owners = of_owners.of_own_containers(&old, &new);
        Self { notes, old, new, of_owners }
    }
}

fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let stores = Stores::new(context.cosmos, context.succession(OLD, NEW));
    let http_functions = bind(functions::all(), &stores);
    let Stores { notes, old, new, of_owners } = stores;
    let checks_of_old = {
        let (notes, old) = (notes.clone(), old.clone());
        move || CopiesChecks::<NotesOfOwners>::new(&notes, &old)
    };
    let sundays = "0 0 3 * * 0";
    let audit = Audit::of_copies::<HeadingsOfOwners>("AuditNotes", sundays, &notes, &new)
        .and_until_confirmed(&of_owners, checks_of_old);
    Ok(Domain {
        http_functions,
        projections: vec![
            Arc::new(CopyProjection::<NotesOfOwners>::new(&notes, &old)),
            Arc::new(CopyProjection::<HeadingsOfOwners>::new(&notes, &new)),
        ],
        successions: vec![of_owners],
        audit: Some(audit),
        containers: vec![notes, old, new],
        ..Domain::new("notes")
    })
}

/// The times of the stories.
const TIMES: &SwitchTimes = &SwitchTimes {
    known_for: Duration::from_millis(200),
    trusted_for: Duration::from_secs(2),
    lead: Duration::from_millis(900),
    removal_delay: Duration::from_millis(300),
};

/// Returns the same world, seen through an instance of its own with these times.
async fn with_times(world: &World, switch: &'static SwitchTimes) -> World {
    let state_max_age = Duration::ZERO;
    let projections = ProjectionOptions { state_max_age, switch, ..ProjectionOptions::default() };
    world.with_app(AppOptions { projections, ..World::options() }).await
}

/// Returns the same world, seen through another instance.
async fn instance(world: &World) -> World {
    with_times(world, TIMES).await
}

/// Creates a world with notes of Ann, `n0` to the last, of which all copies were made.
async fn notes(count: usize) -> World {
    let world = instance(&World::new().await).await;
    for n in 0..count {
        put(&world, &format!("n{n}"), "ann", &format!("Note {n}")).await.expect(201);
    }
    world.settle().await;
    world
}

/// Creates a world as [`notes`] does, in which the successor was rebuilt.
async fn compared(count: usize) -> World {
    let world = notes(count).await;
    rebuild(&world).await;
    world
}

async fn put(world: &World, id: &str, owner: &str, title: &str) -> Answer {
    world.put(&format!("/api/notes/{id}"), json!({"ownerId": owner, "title": title})).await
}

/// Rebuilds the successor.
async fn rebuild(world: &World) {
    world.post(&format!("/api/projections/{NEW}/rebuild"), json!({})).await.expect(200);
    world.tick(MAINTENANCE).await.unwrap();
    assert_eq!(status(world, NEW).await["rebuild"]["step"], "done");
}

/// Sends a command about the old projection: `switch`, `switch-back` or `confirm`.
async fn operate(world: &World, command: &str) -> Answer {
    world.call("POST", &format!("/api/projections/{OLD}/{command}"), &[], None).await
}

/// Switches, and waits until the switch holds.
async fn switched(world: &World, command: &str) {
    let view = operate(world, command).await.expect(200).json();
    let at = view["succession"]["switchedAt"].as_str().unwrap().to_owned();
    while tributary_functions::values::Timestamp::now()
        < tributary_functions::values::Timestamp::parse(&at).unwrap()
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn status(world: &World, name: &str) -> Value {
    world.get(&format!("/api/projections/{name}")).await.expect(200).json()
}

/// Returns the shape of the first note of Ann.
async fn shape(world: &World) -> String {
    let list = world.get("/api/owners/ann/notes").await.expect(200).json();
    list["items"][0]["shape"].as_str().unwrap().to_owned()
}
