//! `cargo xtask rename`: a user with many items is renamed, and the handler is killed again and
//! again meanwhile; with `--delete`, a post with many likes is deleted instead. `docs/renames.md`
//! tells how to read its output.

mod author;
mod memory;
mod removal;
mod run;
mod stage;

use std::process::ExitCode;

use clap::Parser;

/// Renames a user with many posts, comments and likes, kills the handler again and again
/// meanwhile, and compares every name afterwards. Or deletes a post with many likes.
#[derive(Clone, Debug, Parser)]
#[command(bin_name = "cargo xtask rename")]
struct Cli {
    /// Deletes a post with many likes instead, and creates one under its id afterwards.
    #[arg(long, conflicts_with = "alone")]
    delete: bool,

    /// How many items the user has in `posts`, or likes the post; at least 10.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    items: usize,

    /// How long the handler lives, in milliseconds; 0 lets it live.
    #[arg(long, value_name = "MS", default_value_t = 300)]
    kill_every: u64,

    /// What the rename may spend in a second; 0 is no limit.
    #[arg(long, value_name = "RU", default_value_t = 0)]
    request_units: u32,

    /// Leaves all other functions out: the rate and the memory of the rename by itself.
    #[arg(long)]
    alone: bool,

    /// Shows what the host and the handler say.
    #[arg(long)]
    verbose: bool,
}

/// The command, with the arguments after `rename`.
pub(crate) async fn main() -> ExitCode {
    let cli = Cli::parse_from(std::env::args_os().skip(1));
    // Dropping what is under way ends its processes.
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

/// Runs what is asked for, shows its outcome, and tells whether it is right.
async fn run(cli: &Cli) -> anyhow::Result<bool> {
    if cli.delete {
        let outcome = removal::run(cli).await?;
        println!("{outcome}");
        return Ok(outcome.is_right());
    }
    let outcome = run::run(cli).await?;
    println!("{outcome}");
    Ok(outcome.is_right())
}
