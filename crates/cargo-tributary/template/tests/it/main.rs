//! Stories over HTTP, with the app's router, the real SDK and the local Cosmos DB endpoint.

#![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

mod checks;
mod counts;
mod garden_tools;
mod secrets;

use tributary_functions::program::Program;
use tributary_testing::AppUnderTest;

/// This app.
struct App;

impl AppUnderTest for App {
    const ROOT: &'static str = env!("CARGO_MANIFEST_DIR");

    fn program() -> Program {
        my_app::program()
    }
}

/// The app on an empty account, in this process.
type World = tributary_testing::World<App>;
