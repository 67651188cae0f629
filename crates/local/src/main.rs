//! `cargo local`: builds the app, starts a local Cosmos DB endpoint and runs the app under a stand-in
//! for the Functions host. `cargo local --help` has the options.

use std::process::ExitCode;

fn main() -> ExitCode {
    tributary_local::command::main()
}
