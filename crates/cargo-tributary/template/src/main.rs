//! The handler that the Functions host runs.

#[cfg(feature = "dynamic-linking")]
use tributary_dylib as _;

fn main() -> std::process::ExitCode {
    my_app::program().run()
}
