//! `cargo local new`: the templates as they stand, as a domain of an app with its stories, and the command on a
//! copy of the template.

#![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

extern crate self as my_app;

pub mod garden;
#[path = "../../src/scaffold/templates/aggregate/story.rs"]
mod garden_tools;
mod new_parts;
#[path = "../../src/scaffold/templates/projection/story.rs"]
mod shed_cards;
#[path = "../../src/scaffold/templates/function/story.rs"]
mod story;

use tributary_functions::program::Program;
use tributary_testing::{AppUnderTest, checks};

struct App;

impl AppUnderTest for App {
    const ROOT: &'static str = concat!(env!("OUT_DIR"), "/garden");

    fn program() -> Program {
        Program::new("my-app", env!("CARGO_PKG_VERSION")).domain(garden::domain)
    }
}

type World = tributary_testing::World<App>;

#[tokio::test]
async fn every_function_refuses_bad_requests_without_a_store_request() {
    checks::bad_requests_are_refused(&World::new().await).await;
}
