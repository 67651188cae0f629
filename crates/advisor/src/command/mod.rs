//! The command `tributary-partition`: a file for each subcommand. To add one: its file here with its arguments and
//! `run`, a variant of [`AdvisorCommand`], and a line in its match.

use std::{io::Write, process::ExitCode};

use clap::{Parser, Subcommand};

mod advise;
mod input;
mod monitor;
mod properties;
mod run_analysis;
#[cfg(feature = "cosmos")]
mod sample;
mod terminal;

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
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(2)
    })
}
