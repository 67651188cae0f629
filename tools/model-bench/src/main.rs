//! V1, V2 and V3 of the seed article side by side. `docs/models.md` explains the results.

mod cli;

mod blog;

mod measure;
mod output;
mod progress;
mod store;
mod text;

mod report;

use std::process::ExitCode;

use clap::Parser;

use crate::{cli::ModelCli, report::Forms, store::ModelStore};

#[tokio::main]
async fn main() -> ExitCode {
    let cli = ModelCli::parse();
    match measured(&cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measured(cli: &ModelCli) -> anyhow::Result<()> {
    let cli = &cli.blog;
    let store = match &cli.cosmos {
        Some(connection) => ModelStore::account(connection).await?,
        None => ModelStore::Local,
    };
    let result = tokio::select! {
        report = blog::run(cli, &store) => report.and_then(|report| report.write(&cli.output)),
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("ended by Ctrl-C")),
    };
    // Also after an error: databases cost.
    let deleted = if cli.keep { Ok(()) } else { store.delete_made().await };
    if let (Err(_), Err(error)) = (&result, &deleted) {
        eprintln!("error: {error:#}");
    }
    result.and(deleted)
}
