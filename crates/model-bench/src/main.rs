//! The data models V1, V2 and V3 of the seed article side by side: ten requests, what each takes in
//! each model, and what the article says. `docs/models.md` tells how to read it.

mod cli;
mod run;

mod data;
mod request;
mod seed;

mod models;

mod load;
mod progress;
mod store;

mod calls;
mod measure;

mod report;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::Parser;

use crate::{cli::Cli, store::Store};

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match measured(&cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measured(cli: &Cli) -> anyhow::Result<()> {
    let store = match &cli.cosmos {
        Some(connection) => Store::account(connection).await?,
        None => Store::Local,
    };
    let result = tokio::select! {
        report = run::run(cli, &store) => report.and_then(|report| report.write(cli)),
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("ended by Ctrl-C")),
    };
    // Whatever has happened: databases cost.
    let deleted = if cli.keep { Ok(()) } else { store.delete_made().await };
    if let (Err(_), Err(error)) = (&result, &deleted) {
        eprintln!("error: {error:#}");
    }
    result.and(deleted)
}
