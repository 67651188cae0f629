//! A stand-in for the Functions host, or the store alone, that runs for a chore.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::Context;
use serde_json::Value;

pub(crate) struct Local(Child);

impl Local {
    pub(crate) fn demo() -> anyhow::Result<(Self, String)> {
        let demo = ["local", "--demo", "--port", "0", "--cosmos-port", "0"];
        Self::start(Command::new(env!("CARGO")).args(demo))
    }

    pub(crate) fn start(command: &mut Command) -> anyhow::Result<(Self, String)> {
        Self::ready(command, "api")
    }

    pub(crate) fn store() -> anyhow::Result<(Self, String)> {
        Self::ready(Command::new("target/release/cosmos-store").args(["--port", "0"]), "cosmos")
    }

    fn ready(command: &mut Command, address: &str) -> anyhow::Result<(Self, String)> {
        let process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{command:?} cannot be started"))?;
        let mut local = Self(process);
        // Its output stays open for what else it prints.
        let stdout = local.0.stdout.as_mut().context("it has no output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).unwrap_or_default();
        let address = ready[address].as_str();
        let address = address.with_context(|| format!("{command:?} did not get ready"))?;
        Ok((local, address.to_owned()))
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        let _ = self.0.wait();
    }
}
