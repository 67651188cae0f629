//! The handler that the Functions host runs.

#[cfg(feature = "dynamic-linking")]
use tributary_dylib as _;

fn main() -> std::process::ExitCode {
    tributary::program().run()
}
