//! Stories told through the front door: the app's router, the real SDK, the local Cosmos DB endpoint.

#![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

mod checks;
mod client;
mod secrets;
mod stories;

use tributary_functions::program::Program;
use tributary_testing::{Answer, AppUnderTest};

/// This app.
struct App;

impl AppUnderTest for App {
    const ROOT: &'static str = env!("CARGO_MANIFEST_DIR");
    const USER: Option<&'static str> = Some("ann");

    fn program() -> Program {
        my_app::program()
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

/// The app on an empty account, in this process.
type World = tributary_testing::World<App>;
