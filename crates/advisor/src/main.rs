//! The command `tributary-partition`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tributary_partition::run_command()
}
