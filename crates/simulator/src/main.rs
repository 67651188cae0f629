//! `cargo xtask chaos`: random commands under all kinds of chaos against real processes, and then
//! the comparison with the model. `docs/chaos.md` tells how to read its output.

mod handler;
mod rename;
mod run;

use std::process::ExitCode;

use clap::Parser;
use tributary_local::chaos::ChaosSpec;

/// Runs random commands under chaos and compares every query with a reference model.
#[derive(Clone, Debug, Parser)]
#[command(bin_name = "cargo xtask chaos")]
pub(crate) struct Cli {
    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// How many seeds, one after the other.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seeds: u64,

    /// Operations of each seed.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub operations: usize,

    /// What goes wrong, as for `cargo local --chaos`.
    #[arg(
        long,
        value_name = "KIND=P,…",
        default_value = "duplicates=0.2,reorder=0.2,overlap=0.1,crash=0.01,throttle=0.05,\
                         lost-answer=0.02,split=3"
    )]
    pub chaos: String,

    /// Creates posts again under the ids of deleted ones, instead of under new ids.
    #[arg(long)]
    pub reuse_ids: bool,

    /// Runs `tributary audit` at the end of each seed too; what it finds fails the run.
    #[arg(long)]
    pub audit: bool,

    /// Shows what the host and the handlers say.
    #[arg(long)]
    pub verbose: bool,
}

impl Cli {
    /// The command that runs one seed again.
    pub(crate) fn command(&self, seed: u64) -> String {
        let reuse_ids = if self.reuse_ids { " --reuse-ids" } else { "" };
        let audit = if self.audit { " --audit" } else { "" };
        format!(
            "cargo xtask chaos --seed {seed} --operations {} --chaos {}{reuse_ids}{audit}",
            self.operations, self.chaos
        )
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == "rename") {
        return rename::main().await;
    }
    let cli = Cli::parse();
    // Dropping what is under way ends its processes.
    let result = tokio::select! {
        result = seeds(&cli) => result,
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

async fn seeds(cli: &Cli) -> anyhow::Result<bool> {
    let chaos: ChaosSpec = cli.chaos.parse()?;
    let mut all_right = true;
    for seed in cli.seed..cli.seed.saturating_add(cli.seeds) {
        let outcome = run::run(cli, &chaos, seed).await?;
        println!("{outcome}");
        if !outcome.is_right() {
            all_right = false;
            println!("To see it again: {}", cli.command(seed));
        }
    }
    Ok(all_right)
}
