//! `cargo tributary new DIR`: an app on `tributary-functions`.

mod new;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};

/// Cargo calls `cargo-tributary tributary …`.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo", version)]
enum Cargo {
    /// Back ends on Azure Functions and Azure Cosmos DB.
    #[command(subcommand)]
    Tributary(Command),
}

#[derive(Debug, Subcommand)]
enum Command {
    New(New),
}

/// Creates an app: an aggregate, a projection, stories, and the files of the Functions host.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The folder of the app. It must not exist, or be empty.
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The name of the app: small letters, digits and hyphens; without it that of the folder.
    #[arg(long)]
    name: Option<String>,

    /// The checkout of Tributary that the app takes the framework from.
    #[arg(long, value_name = "DIR")]
    checkout: PathBuf,
}

fn main() -> ExitCode {
    let Cargo::Tributary(Command::New(new)) = Cargo::parse();
    match new::create(&new) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
