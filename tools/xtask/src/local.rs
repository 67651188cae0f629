//! A stand-in for the Functions host that runs for a chore.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::Context;
use serde_json::Value;

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
        let process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the stand-in for the host cannot be started")?;
        let mut local = Self(process);
        // Its output stays open for what else it prints.
        let stdout = local.0.stdout.as_mut().context("the stand-in for the host has no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).unwrap_or_default();
        let api = ready["api"].as_str().context("the stand-in for the host did not get ready")?;
        Ok((local, api.to_owned()))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}
