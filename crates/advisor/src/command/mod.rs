//! The command `tributary-partition`: a file for each subcommand. To add one: its file here with its arguments and
//! `run`, a variant of [`AdvisorCommand`], and a line in its match.

use std::{
    io::{self, IsTerminal, Write, stderr},
    process::ExitCode,
};

use crate::output::{self, Section};
use anyhow::Context;
use clap::{Parser, Subcommand};
use serde::Serialize;

mod advise;
mod input;
mod monitor;
mod properties;
mod run_analysis;
#[cfg(feature = "cosmos")]
mod sample;

/// Chooses, validates and watches the partition key of an Azure Cosmos DB container.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: AdvisorCommand,
}

#[derive(Debug, Subcommand)]
enum AdvisorCommand {
    Advise(Box<advise::AdviseArguments>),
    Monitor(monitor::MonitorArguments),
    #[cfg(feature = "cosmos")]
    Sample(sample::SampleArguments),
}

/// Runs the command of the process's arguments.
pub fn run_command() -> ExitCode {
    let outcome = match Cli::parse().command {
        AdvisorCommand::Advise(arguments) => advise::run(&arguments),
        AdvisorCommand::Monitor(arguments) => monitor::run(&arguments),
        #[cfg(feature = "cosmos")]
        AdvisorCommand::Sample(arguments) => sample::run(&arguments),
    };
    // 2 is the exit code of clap for wrong arguments, too.
    outcome.unwrap_or_else(|error| {
        // A closed stderr is not an error.
        let _ = writeln!(stderr(), "error: {error:#}");
        ExitCode::from(2)
    })
}

fn print(answer: &impl Serialize, sections: &[Section], as_json: bool) -> anyhow::Result<()> {
    let text =
        if as_json { serde_json::to_string_pretty(answer)? + "\n" } else { output::text(sections) };
    match anstream::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("the result cannot be printed")
        }
        _ => Ok(()),
    }
}

/// A line of progress on a terminal, which is cleared at the end. A closed stderr is not an error.
struct Progress {
    is_shown: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self { is_shown: stderr().is_terminal() }
    }
}

impl Progress {
    fn show(&self, text: &str) {
        if self.is_shown {
            let _ = write!(stderr(), "\r{text} ");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.show("\x1b[K");
    }
}
