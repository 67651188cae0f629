//! The app that `cargo tributary new --example rooms` writes, with its stories, as they stand in `rooms/`.

#![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

extern crate self as my_app;

#[allow(missing_docs, reason = "an app's own code")]
#[path = "../rooms/src/rooms/mod.rs"]
pub mod rooms;

#[path = "../rooms/tests/it/bookings.rs"]
mod bookings;

#[path = "../template/tests/it/checks.rs"]
mod checks;

#[path = "../rooms/tests/it/proofs.rs"]
mod proofs;

mod functions;

use tributary_functions::program::Program;
use tributary_testing::AppUnderTest;

struct App;

impl AppUnderTest for App {
    const ROOT: &'static str = concat!(env!("OUT_DIR"), "/rooms");

    fn program() -> Program {
        Program::new("my-app", env!("CARGO_PKG_VERSION")).domain(rooms::domain)
    }
}

#[test]
fn the_table_of_the_functions_is_as_the_app_declares_them() {
    functions::hold_table::<App>("rooms");
}

type World = tributary_testing::World<App>;
