//! The handler that the Functions host runs.

use std::process::ExitCode;

#[cfg(feature = "dynamic-linking")]
use tributary_dylib as _;

fn main() -> ExitCode {
    tributary::program().run()
}
