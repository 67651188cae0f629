//! Data models side by side: what each request takes in each model, and what the seeds say.
//!
//! - [`blog`]: V1, V2 and V3 of the seed article. `docs/models.md` tells how to read it.
//! - [`feeds`]: the partitioning guide's four architectures for news feeds.
//!   `docs/feeds-architectures.md` tells how to read it.

mod cli;

mod blog;
mod feeds;

mod measure;
mod output;
mod progress;
mod store;
mod text;

mod report;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    cli::{Cli, OtherFamily},
    report::Forms,
    store::Store,
};

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
    if let Some(OtherFamily::Feeds(cli)) = &cli.other {
        return feeds::run(cli).await?.write(&cli.output);
    }
    let cli = &cli.blog;
    let store = match &cli.cosmos {
        Some(connection) => Store::account(connection).await?,
        None => Store::Local,
    };
    let result = tokio::select! {
        report = blog::run(cli, &store) => report.and_then(|report| report.write(&cli.output)),
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("ended by Ctrl-C")),
    };
    // Whatever has happened: databases cost.
    let deleted = if cli.keep { Ok(()) } else { store.delete_made().await };
    if let (Err(_), Err(error)) = (&result, &deleted) {
        eprintln!("error: {error:#}");
    }
    result.and(deleted)
}
