//! `cargo xtask rename`: a user with many items is renamed, and the handler is killed repeatedly
//! meanwhile; with `--delete`, a post with many likes is deleted instead; with `--domain webstore`, a
//! category and a tag are renamed under chaos while prices are edited. `docs/renames.md` explains its
//! output.

mod author;
mod removal;
mod run;
mod shop;
mod stage;

use std::process::ExitCode;

use anyhow::ensure;
use clap::Parser;

use crate::Domain;

/// Renames a user with many posts, comments and likes, kills the handler repeatedly meanwhile, and
/// compares every name afterwards. Or deletes a post with many likes.
#[derive(Clone, Debug, Parser)]
#[command(bin_name = "cargo xtask rename")]
struct RenameCli {
    /// The domain of the names: those of users, or those of a category and a tag while prices are
    /// edited.
    #[arg(long, value_enum, default_value_t)]
    domain: Domain,

    /// Deletes a post with many likes instead, and creates one under its id afterwards.
    #[arg(long, conflicts_with = "alone")]
    delete: bool,

    /// The number of the user's items in `posts`: 20,000; or of the likes of the post: 5,000, since the
    /// local store looks at all of them for each step; at least 10. In the WebStore the number of
    /// products of the category, and of the tag: 5,000, and at least 100.
    #[arg(long, value_name = "N")]
    items: Option<usize>,

    /// The life of the handler, in milliseconds; 0 lets it live. A page of 5,000 products takes the
    /// local store longer than one of a user's items: use 2,000 for the WebStore.
    #[arg(long, value_name = "MS", default_value_t = 300)]
    kill_every: u64,

    /// Further faults in the WebStore, as for `cargo xtask chaos`.
    #[arg(long, value_name = "KIND=P,…")]
    chaos: Option<String>,

    /// Seed of the faults.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The request units that the rename may spend in a second; 0 is no limit.
    #[arg(long, value_name = "RU", default_value_t = 0)]
    request_units: u32,

    /// Disables all other functions: the rate and the memory of the rename by itself.
    #[arg(long)]
    alone: bool,

    /// Shows the lines of the host and the handler.
    #[arg(long)]
    verbose: bool,
}

/// Runs the command, with the arguments after `rename`.
pub(crate) async fn main() -> ExitCode {
    let cli = RenameCli::parse_from(std::env::args_os().skip(1));
    // A drop of the work under way ends its processes.
    let result = tokio::select! {
        result = run(&cli) => result,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("ended by Ctrl-C")),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the chosen scenario, shows its outcome, and returns true if it is right.
async fn run(cli: &RenameCli) -> anyhow::Result<bool> {
    if cli.domain == Domain::WebStore {
        ensure!(!cli.delete, "--delete is about posts");
        let outcome = shop::run(cli).await?;
        println!("{outcome}");
        return Ok(outcome.is_right());
    }
    ensure!(cli.chaos.is_none(), "--chaos is for the WebStore");
    if cli.delete {
        let outcome = Box::pin(removal::run(cli)).await?;
        println!("{outcome}");
        return Ok(outcome.is_right());
    }
    let outcome = Box::pin(run::run(cli)).await?;
    println!("{outcome}");
    Ok(outcome.is_right())
}
