//! `cargo tributary new DIR`: an app on `tributary-functions`. `cargo tributary package`: the app for Azure.

mod new;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The command line of the plugin: Cargo calls `cargo-tributary tributary …`.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo", version)]
enum Cargo {
    /// Back ends on Azure Functions and Azure Cosmos DB.
    #[command(subcommand)]
    Tributary(TributaryCommand),
}

#[derive(Debug, Subcommand)]
enum TributaryCommand {
    New(New),
    Package(Package),
}

/// Creates an app: an aggregate, a projection, stories, and the files of the Functions host.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The folder of the app. It must not exist, or be empty.
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// The name of the app: lowercase letters, digits and hyphens; the name of the folder by default.
    #[arg(long)]
    name: Option<String>,

    /// Example that the app begins with.
    #[arg(long, value_enum, default_value_t)]
    example: Example,

    /// Checkout of Tributary that has the framework, instead of crates.io.
    #[arg(long, value_name = "DIR")]
    checkout: Option<PathBuf>,
}

/// The example that an app begins with.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum Example {
    /// Notes of owners, and their number: the smallest app.
    #[default]
    Notes,
    /// Meeting rooms: counted bookings, copies, counts, the newest rooms, and names that follow a rename.
    Rooms,
    /// Recipes behind an API that is not ours: tokens, envelopes, errors, slugs, offsets, a feed of the followed.
    Recipes,
}

/// Builds the handler for the Functions images and writes target/functionapp and target/functionapp.zip.
///
/// Prints the sizes and the glibc that the handler needs, and refuses a handler that the images cannot run.
#[derive(Debug, Args)]
struct Package {
    /// Install the missing tools: the compiler's target with rustup, and cargo-zigbuild with zig from
    /// PyPI into target/tools.
    #[arg(long)]
    install_tools: bool,

    /// The profile of Cargo.
    #[arg(long, value_name = "NAME", default_value = "release")]
    profile: String,

    /// The folder with host.json.
    #[arg(long, value_name = "DIR", default_value = ".")]
    app: PathBuf,
}

fn main() -> ExitCode {
    let Cargo::Tributary(command) = Cargo::parse();
    let result = match command {
        TributaryCommand::New(new) => new::create(&new),
        TributaryCommand::Package(Package { install_tools, profile, app }) => {
            cargo_tributary::package::build(&app, &profile, install_tools)
                .map(|app| println!("{app}"))
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
