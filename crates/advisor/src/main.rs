//! The command `tributary-partition`.

use std::{io::Write, process::ExitCode};

use clap::{Parser, Subcommand};

mod command;

/// Chooses, validates and watches the partition key of an Azure Cosmos DB container.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: AdvisorCommand,
}

#[derive(Debug, Subcommand)]
enum AdvisorCommand {
    Advise(Box<command::advise_arguments::AdviseArguments>),
    Monitor(command::monitor::MonitorArguments),
    #[cfg(feature = "cosmos")]
    Sample(command::sample::SampleArguments),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        AdvisorCommand::Advise(arguments) => command::advise::run(&arguments),
        AdvisorCommand::Monitor(arguments) => command::monitor::run(&arguments),
        #[cfg(feature = "cosmos")]
        AdvisorCommand::Sample(arguments) => command::sample::run(&arguments),
    };
    // 2 is the exit code of clap for wrong arguments, too.
    outcome.unwrap_or_else(|error| {
        // A closed stderr is not an error.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(2)
    })
}
