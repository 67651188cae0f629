//! The handler that the Functions host runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    tributary::program().run()
}
