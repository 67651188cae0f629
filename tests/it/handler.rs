//! The handler as a process of its own, without a host.

use std::process::{Output, Stdio};

use tokio::process::{Child, Command};
pub(crate) use tributary_testing::handler::{Handler, wait_for};

use crate::world::World;

pub(crate) const HANDLER: &str = env!("CARGO_BIN_EXE_tributary");

/// Runs a command of the app on an account, and returns its exit code, its output and its errors.
pub(crate) async fn run_command(
    connection: &str,
    command: &str,
    arguments: &[&str],
) -> (i32, String, String) {
    output_of(start_command(connection, command, arguments)).await
}

pub(crate) fn start_command(connection: &str, command: &str, arguments: &[&str]) -> Child {
    Command::new(HANDLER)
        .arg(command)
        .args(arguments)
        .env_clear()
        .env("CosmosConnection", connection)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

pub(crate) async fn output_of(command: Child) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.wait_with_output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

pub(crate) async fn start(world: &World, settings: &[(&str, &str)]) -> Handler {
    Handler::start(HANDLER, world, settings).await
}
