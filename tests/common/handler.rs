//! The handler as a process of its own, without a host.

use std::process::Output;

use tokio::process::Command;
pub(crate) use tributary_testing::handler::{Handler, wait_for};

use super::world::World;

/// The executable of the handler.
pub(crate) const HANDLER: &str = env!("CARGO_BIN_EXE_tributary");

/// Runs a command of the app on an account, and returns its exit code, its output and its errors.
pub(crate) async fn run_command(
    connection: &str,
    command: &str,
    arguments: &[&str],
) -> (i32, String, String) {
    let Output { status, stdout, stderr } = Command::new(HANDLER)
        .arg(command)
        .args(arguments)
        .env_clear()
        .env("CosmosConnection", connection)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// Starts the handler on the account of a world, with these settings besides those of the store.
pub(crate) async fn start(world: &World, settings: &[(&str, &str)]) -> Handler {
    Handler::start(HANDLER, world, settings).await
}
