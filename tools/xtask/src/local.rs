//! A stand-in for the Functions host that runs for a chore.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::Context;
use serde_json::Value;

/// A running `cargo local`, which ends as by Ctrl-C.
pub(crate) struct Local {
    process: Child,
    stdout: BufReader<ChildStdout>,
}

impl Local {
    /// Starts the app with its demo data on free ports.
    pub(crate) fn demo() -> anyhow::Result<(Self, String)> {
        let demo = ["local", "--demo", "--port", "0", "--cosmos-port", "0"];
        Self::start(Command::new(env!("CARGO")).args(demo))
    }

    /// Starts it and waits until everything is ready; also returns the address of the API.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<(Self, String)> {
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the stand-in for the host cannot be started")?;
        let stdout = process.stdout.take().context("the stand-in for the host has no output")?;
        let mut local = Self { process, stdout: BufReader::new(stdout) };
        let api = local.wait_until_ready()?;
        Ok((local, api))
    }

    /// Waits until everything is ready, once more after each change with `--watch`. Returns the address of the
    /// API.
    pub(crate) fn wait_until_ready(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).unwrap_or_default();
        let api = ready["api"].as_str().context("the stand-in for the host did not get ready")?;
        Ok(api.to_owned())
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}
