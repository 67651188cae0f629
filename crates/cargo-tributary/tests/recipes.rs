//! The app that `cargo tributary new --example recipes` writes, with its stories, as they stand in `recipes/`.

#![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

extern crate self as my_app;

#[allow(missing_docs, reason = "an app's own code")]
#[path = "../recipes/src/recipes/mod.rs"]
pub mod recipes;

#[path = "../template/tests/it/checks.rs"]
mod checks;

#[path = "../recipes/tests/it/client.rs"]
mod client;

#[path = "../recipes/tests/it/stories.rs"]
mod stories;

mod functions;

use tributary_functions::program::Program;
use tributary_testing::{Answer, AppUnderTest};

struct App;

impl AppUnderTest for App {
    const ROOT: &'static str = concat!(env!("OUT_DIR"), "/recipes");
    const USER: Option<&'static str> = Some("ann");

    fn program() -> Program {
        let app = Program::new("my-app", env!("CARGO_PKG_VERSION")).domain(recipes::domain);
        app.errors::<recipes::Errors>().sign_in(recipes::sign_in)
    }

    fn sign_in(user: &str) -> Vec<(&'static str, String)> {
        client::sign_in(user)
    }

    fn read_refusal(answer: &Answer, slug: &str) -> Result<Vec<String>, String> {
        client::read_refusal(answer, slug)
    }

    fn status_of(slug: &str, status: u16) -> u16 {
        client::status_of(slug, status)
    }
}

#[test]
fn the_table_of_the_functions_is_as_the_app_declares_them() {
    functions::hold_table::<App>("recipes");
}

type World = tributary_testing::World<App>;
