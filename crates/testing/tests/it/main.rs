//! Stories of the framework, on the app that `cargo tributary new --example rooms` creates: its promises to
//! every app.

#![expect(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]
#![expect(clippy::unnecessary_wraps, reason = "every domain may find its settings wrong")]

mod dead_letters;
mod given;
mod http;
mod operator;
mod projections;
mod settle;
mod songs;

#[allow(missing_docs, reason = "an app's own code")]
#[path = "../../../cargo-tributary/rooms/src/rooms/mod.rs"]
pub mod rooms;

use tributary_functions::program::Program;
use tributary_testing::AppUnderTest;

struct Rooms;

impl AppUnderTest for Rooms {
    const ROOT: &'static str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cargo-tributary/rooms");

    fn program() -> Program {
        Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(rooms::domain)
    }
}

type World = tributary_testing::World<Rooms>;
