//! `cargo local`: builds the app, starts a local Cosmos DB endpoint and runs the app under a
//! stand-in for the Functions host. `cargo local --help` says more.

mod cli;
mod demo;
mod launcher;
mod project;
mod run;
mod signals;
mod stage;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    if let Some(words) = launcher::requested() {
        return launcher::become_program(&words);
    }
    let cli = cli::Cli::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.into()),
    };
    match runtime.block_on(run::run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn fail(error: &anyhow::Error) -> ExitCode {
    anstream::eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
