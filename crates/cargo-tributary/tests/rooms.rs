//! The app that `cargo tributary new --example rooms` writes, with its stories, as they stand in `rooms/`.

#![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

extern crate self as my_app;

#[path = "../rooms/src/rooms/mod.rs"]
pub mod rooms;

#[path = "../rooms/tests/it/bookings.rs"]
mod bookings;

#[path = "../rooms/tests/it/checks.rs"]
mod checks;

#[path = "../rooms/tests/it/overlaps.rs"]
mod overlaps;

#[path = "../rooms/tests/it/people.rs"]
mod people;

#[path = "../rooms/tests/it/proofs.rs"]
mod proofs;

use std::{fs, path::Path};

use tributary_functions::program::Program;
use tributary_testing::AppUnderTest;

struct App;

impl AppUnderTest for App {
    const ROOT: &'static str = concat!(env!("CARGO_MANIFEST_DIR"), "/rooms");

    fn program() -> Program {
        Program::new("my-app", env!("CARGO_PKG_VERSION")).domain(rooms::domain)
    }
}

#[test]
fn the_files_of_the_functions_are_as_the_app_declares_them() {
    let functions = Path::new(App::ROOT).join("functions");
    let declarations = App::program().describe().unwrap().declarations();
    for declaration in &declarations {
        let file = functions.join(declaration.name).join("function.json");
        assert_eq!(fs::read_to_string(file).unwrap(), declaration.function_json().unwrap());
    }
    assert_eq!(fs::read_dir(functions).unwrap().count(), declarations.len());
}

type World = tributary_testing::World<App>;
