//! The app that `cargo tributary new` writes, with its stories, as they stand in the template.

#![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

extern crate self as my_app;

#[path = "../template/src/notes/mod.rs"]
pub mod notes;

#[path = "../template/tests/it/notes.rs"]
mod stories;

#[path = "../template/tests/it/checks.rs"]
mod checks;

#[path = "../template/tests/it/proofs.rs"]
mod proofs;

#[path = "../template/tests/it/store.rs"]
mod store;

mod functions;

use tributary_functions::program::Program;
use tributary_testing::AppUnderTest;

struct App;

impl AppUnderTest for App {
    const ROOT: &'static str = concat!(env!("OUT_DIR"), "/notes");

    fn program() -> Program {
        Program::new("my-app", env!("CARGO_PKG_VERSION")).domain(notes::domain)
    }
}

#[test]
fn the_table_of_the_functions_is_as_the_app_declares_them() {
    functions::hold_table::<App>("template");
}

type World = tributary_testing::World<App>;
