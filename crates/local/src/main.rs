//! `cargo local`: builds the app, starts a local Cosmos DB endpoint and runs the app under a
//! stand-in for the Functions host. `cargo local --help` says more.

use std::process::ExitCode;

fn main() -> ExitCode {
    tributary_local::command::main()
}
