//! The handler that the Functions host runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    my_app::program().run()
}
