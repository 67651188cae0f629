//! Stories of the framework, on a small domain of their own: its promises to every app.

#![expect(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]
#![expect(
    clippy::struct_field_names,
    clippy::unnecessary_wraps,
    reason = "a partition key has the name of its item, and every domain may find its settings wrong"
)]

mod dead_letters;
mod given;
mod http;
mod interleavings;
mod operator;
mod projections;
mod proofs;
mod rooms;

use std::{fs, path::Path};

use tributary_functions::program::Program;
use tributary_testing::AppUnderTest;

/// The app of the rooms.
struct Rooms;

impl AppUnderTest for Rooms {
    const ROOT: &'static str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rooms");

    fn program() -> Program {
        Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(rooms::domain)
    }
}

/// The app on an empty account, in this process.
type World = tributary_testing::World<Rooms>;

/// Compares the files with the declarations; with `UPDATE_FUNCTIONS=1` in the environment, writes them.
fn hold_functions<A: AppUnderTest>() {
    let functions = Path::new(A::ROOT).join("functions");
    let declarations = A::program().describe().unwrap().declarations();
    for declaration in &declarations {
        let file = functions.join(declaration.name).join("function.json");
        let declared = declaration.function_json().unwrap();
        if std::env::var_os("UPDATE_FUNCTIONS").is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &declared).unwrap();
        }
        let stored = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(stored, declared, "{}: run this test with UPDATE_FUNCTIONS=1", file.display());
    }
    assert_eq!(fs::read_dir(functions).unwrap().count(), declarations.len());
}

#[test]
fn the_files_of_the_functions_are_as_the_app_declares_them() {
    hold_functions::<Rooms>();
}
