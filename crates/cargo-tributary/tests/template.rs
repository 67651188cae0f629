//! The app that `cargo tributary new` writes and the parts that `cargo local new` adds, with their stories, as
//! they stand in the templates.

#![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

extern crate self as my_app;

#[path = "../template/tests/it/checks.rs"]
mod checks;
#[path = "../src/scaffold/templates/copies_story.rs"]
mod copies;
#[path = "../template/tests/it/counts.rs"]
mod counts;
mod functions;
#[path = "../template/src/garden/mod.rs"]
pub mod garden;
#[path = "../template/tests/it/garden_tools.rs"]
mod garden_tools;
pub mod parts;
#[path = "../src/scaffold/templates/function_story.rs"]
mod story;

use tributary_functions::program::Program;
use tributary_testing::AppUnderTest;

/// The app as it is written.
struct Template;

impl AppUnderTest for Template {
    const ROOT: &'static str = concat!(env!("OUT_DIR"), "/notes");

    fn program() -> Program {
        Program::new("my-app", env!("CARGO_PKG_VERSION")).domain(garden::domain)
    }
}

/// The app with more parts.
struct App;

impl AppUnderTest for App {
    const ROOT: &'static str = concat!(env!("OUT_DIR"), "/parts");

    fn program() -> Program {
        Template::program().domain(parts::domain)
    }
}

#[test]
fn the_table_of_the_functions_is_as_the_app_declares_them() {
    functions::hold_table::<Template>("template");
}

type World = tributary_testing::World<App>;
