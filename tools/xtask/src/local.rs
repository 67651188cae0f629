//! A stand-in for the Functions host that runs for a chore.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::Context;
use serde::Deserialize;

/// The line of `cargo local` as soon as everything is ready.
#[derive(Deserialize)]
struct Ready {
    api: String,
}

/// A running `cargo local`, which ends as by Ctrl-C.
pub(crate) struct Local(Child);

impl Local {
    /// Starts the app with its demo data on free ports.
    pub(crate) fn demo() -> anyhow::Result<(Self, String)> {
        let demo = ["local", "--demo", "--port", "0", "--cosmos-port", "0"];
        Self::start(Command::new(env!("CARGO")).args(demo))
    }

    /// Starts it and waits until everything is ready; also returns the address of the API.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<(Self, String)> {
        let mut local = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map(Self)
            .context("the stand-in for the host cannot be started")?;
        let mut line = String::new();
        let stdout = local.0.stdout.take().context("the stand-in for the host has no output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let ready: Ready =
            serde_json::from_str(&line).context("the stand-in for the host did not get ready")?;
        Ok((local, ready.api))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}
