//! `cargo xtask chaos`: random commands under all kinds of chaos against real processes, and then the comparison with a
//! reference model and the audit. `docs/chaos.md` explains it.
//!
//! The model of a domain (a [`workload::Workload`]) holds the acknowledged commands. A replica that lags may answer a
//! query: a model allows each version that was the newest one within that time ([`versions::Versions`]).

mod api;
mod audit;
mod blog;
mod clients;
mod copies;
mod news;
mod poison;
mod rebuilds;
mod run;
mod versions;
mod webstore;
mod workload;

use std::{fmt, process::ExitCode, time::Duration};

use clap::{Parser, ValueEnum};
use mimalloc::MiMalloc;
use tributary_local::chaos::{ChaosKind, ChaosSpec};

use blog::Blog;
use clients::AnswerTally;
use news::News;
use webstore::WebStore;

/// The allocator of this process: the clients and the store. The handlers are other processes.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Runs random commands under chaos, compares every query with a reference model, and audits.
///
/// Without options: seeds 1 to 10 with 20,000 operations each and all kinds of chaos. It prints a line
/// for each seed. For a seed that fails it also prints the faults and the options that repeat the seed;
/// then the exit code is 1.
#[derive(Clone, Debug, Parser)]
#[command(bin_name = "cargo xtask chaos", args_override_self = true)]
pub(crate) struct ChaosCli {
    /// The domain whose workload runs.
    #[arg(long, value_enum, default_value_t)]
    domain: Domain,

    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The number of seeds, one after the other.
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,

    /// Operations of each seed.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    operations: usize,

    /// The faults to inject, as for `cargo local --chaos`.
    #[arg(
        long,
        value_name = "KIND=P,…",
        default_value = "duplicates=0.2,reorder=0.2,overlap=0.1,crash=0.01,throttle=0.05,\
                         lost-answer=0.02,stale=0.2,repeat=0.05,split=3"
    )]
    chaos: String,

    /// The number of poisoned items, which the app cannot read.
    #[arg(long, value_name = "N", default_value_t = 40)]
    poison: usize,

    /// Rebuilds the projections of the domain meanwhile, in turn, by commands that are killed.
    #[arg(long)]
    rebuild: bool,

    /// The number of items of one author, or of one category and tag, that is renamed all the time, and
    /// whose list must always show all of them.
    #[arg(long, value_name = "N", default_value_t = 0)]
    copies: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Domain {
    #[default]
    Blog,
    #[value(name = "webstore")]
    WebStore,
    News,
}

/// The longest lag of a stale read (docs/chaos.md), and a second more for a loaded machine.
const MAX_LAG: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = ChaosCli::parse();
    // A drop of the work under way ends its processes.
    let all_right = tokio::select! {
        result = seeds(&cli) => result?,
        _ = tokio::signal::ctrl_c() => anyhow::bail!("ended by Ctrl-C"),
    };
    Ok(if all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn seed_of(cli: &ChaosCli, chaos: &ChaosSpec, seed: u64) -> anyhow::Result<SeedOutcome> {
    let poison = cli.poison;
    match cli.domain {
        Domain::Blog => Box::pin(run::run(cli, chaos, seed, Blog::new(poison))).await,
        Domain::WebStore => Box::pin(run::run(cli, chaos, seed, WebStore::new())).await,
        Domain::News => Box::pin(run::run(cli, chaos, seed, News::new(poison, seed))).await,
    }
}

async fn seeds(cli: &ChaosCli) -> anyhow::Result<bool> {
    let chaos: ChaosSpec = cli.chaos.parse().map_err(anyhow::Error::msg)?;
    let mut all_right = true;
    for seed in cli.seed..cli.seed.saturating_add(cli.seeds) {
        let is_right = match seed_of(cli, &chaos, seed).await {
            Ok(outcome) => {
                println!("Seed {seed}: {outcome}");
                outcome.is_right()
            }
            Err(error) => {
                println!("Seed {seed} could not be run to its end: {error:#}");
                false
            }
        };
        if !is_right {
            all_right = false;
            println!("To see it again, add --seed {seed} --seeds 1.");
        }
    }
    Ok(all_right)
}

const MAX_SHOWN_LINES: usize = 20;

pub(crate) struct SeedOutcome {
    pub(crate) tally: AnswerTally,
    pub(crate) injected: Vec<(ChaosKind, u64)>,
    pub(crate) counts: Vec<(&'static str, u64)>,
    /// The dead letters that no poisoned item explains: no fault of chaos is permanent.
    pub(crate) dead_letters: Vec<String>,
    pub(crate) divergences: Vec<String>,
    pub(crate) duration: Duration,
}

impl SeedOutcome {
    pub(crate) fn is_right(&self) -> bool {
        self.tally.wrong.is_empty() && self.divergences.is_empty() && self.dead_letters.is_empty()
    }
}

impl fmt::Display for SeedOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AnswerTally { acknowledged, throttled, unavailable, killed, wrong } = &self.tally;
        let verdict = if self.is_right() { "right" } else { "WRONG" };
        write!(
            f,
            "{verdict} after {:.0} s; {acknowledged} acknowledged, 429 {throttled}, 503 \
             {unavailable}, killed {killed}",
            self.duration.as_secs_f64()
        )?;
        let injected = self.injected.iter().map(|(kind, count)| (kind.name(), *count));
        for (what, count) in injected.chain(self.counts.iter().copied()) {
            write!(f, ", {what} {count}")?;
        }
        for (what, list) in
            [("wrong", wrong), ("dead letter", &self.dead_letters), ("differs", &self.divergences)]
        {
            for line in list.iter().take(MAX_SHOWN_LINES) {
                write!(f, "\n  {what}: {line}")?;
            }
            if list.len() > MAX_SHOWN_LINES {
                write!(f, "\n  {what}: {} in all", list.len())?;
            }
        }
        Ok(())
    }
}
