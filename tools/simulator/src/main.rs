//! `cargo xtask chaos`: random commands under all kinds of chaos against real processes, and then the
//! comparison with the model and the audit. `docs/chaos.md` explains its output.

mod audit;
mod bystanders;
mod handler;
mod memory;
mod outcome;
mod poison;
mod rebuilds;
mod rename;
mod run;

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use mimalloc::MiMalloc;
use tributary_local::chaos::{ChaosKind, ChaosSpec};
use tributary_simulator::{
    Clock,
    blog::{self, Blog},
    news::{self, News},
    webstore::{self, WebStore},
};

use outcome::SeedOutcome;

/// The allocator of this process: the clients and the store. The handlers are other processes.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Runs random commands under chaos, compares every query with a reference model, and audits.
///
/// Without options: seeds 1 to 10 with 20,000 operations each, all kinds of chaos, ids of deleted posts
/// used again, and the audit. It prints a row for each seed. For a seed that fails it also prints the
/// faults and the command that repeats the seed; then the exit code is 1.
#[derive(Clone, Debug, Parser)]
#[command(bin_name = "cargo xtask chaos")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ChaosCli {
    /// The domain whose workload runs.
    #[arg(long, value_enum, default_value_t)]
    pub domain: Domain,

    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// The number of seeds, one after the other.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub seeds: u64,

    /// Operations of each seed.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub operations: usize,

    /// The faults to inject, as for `cargo local --chaos`.
    #[arg(
        long,
        value_name = "KIND=P,…",
        default_value = "duplicates=0.2,reorder=0.2,overlap=0.1,crash=0.01,throttle=0.05,\
                         lost-answer=0.02,stale=0.2,repeat=0.05,split=3"
    )]
    pub chaos: String,

    /// Gives the post that follows a deleted one a new id instead of the same one.
    #[arg(long)]
    pub new_ids: bool,

    /// The number of poisoned items, which the app cannot read or not rewrite.
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub poison: usize,

    /// Rebuilds projections meanwhile, by commands that are killed.
    #[arg(long)]
    pub rebuilds: bool,

    /// Rebuilds no other projection than this one.
    #[arg(long, value_name = "NAME", requires = "rebuilds")]
    pub rebuild_only: Option<String>,

    /// The budget of the processes that rebuild, in request units a second; 0 is no limit. A rebuild that uses
    /// more fails the run.
    #[arg(long, value_name = "RU", default_value_t = 0)]
    pub rebuild_request_units: u32,

    /// The number of items that are created first and never changed. Lists are read all the time, and must
    /// show all of them. They also are the sources of rebuilds.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub bystanders: usize,

    /// Only compares with the model, and does not audit.
    #[arg(long)]
    pub no_audit: bool,

    /// Shows the lines of the host and the handlers.
    #[arg(long)]
    pub verbose: bool,
}

/// A domain with a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Domain {
    #[default]
    Blog,
    #[value(name = "webstore")]
    WebStore,
    News,
}

/// The longest lag of a stale read (docs/chaos.md), and a second more for a loaded machine.
const MAX_LAG: Duration = Duration::from_secs(3);

/// The speed of the clock of the news. A request may take half an hour on it (`Ages::SLACK` of the
/// news): six seconds, in which the SDK repeats a throttled one.
const NEWS_CLOCK: u32 = 300;
/// The approximate time of a run of the news.
const NEWS_RUN: Duration = Duration::from_mins(5);

impl Domain {
    /// Returns the projections of the domain.
    fn projections(self) -> &'static [&'static str] {
        match self {
            Self::Blog => &["PostCopiesInUsers", "HomeFeed", "UsernamesInPosts", "PostsIntegrity"],
            Self::WebStore => &["LabelNames", "Leaderboard", "ProductsIntegrity"],
            Self::News => &[],
        }
    }
}

impl ChaosCli {
    /// Returns the projections that are rebuilt. Fails if the domain has none with the given name.
    pub(crate) fn rebuilt(&self) -> anyhow::Result<Vec<&'static str>> {
        let all = if self.rebuilds { self.domain.projections() } else { &[] };
        let Some(only) = &self.rebuild_only else { return Ok(all.to_vec()) };
        let named = all.iter().find(|name| *name == only);
        let named = named.with_context(|| {
            format!("the domain has no projection {only}, but {}", all.join(", "))
        })?;
        Ok(vec![*named])
    }

    /// Returns the command that runs one seed again.
    pub(crate) fn command(&self, seed: u64) -> String {
        let new_ids = if self.new_ids { " --new-ids" } else { "" };
        let no_audit = if self.no_audit { " --no-audit" } else { "" };
        let rebuilds = if self.rebuilds { " --rebuilds" } else { "" };
        let only = match &self.rebuild_only {
            Some(name) => format!(" --rebuild-only {name}"),
            None => String::new(),
        };
        let budget = match self.rebuild_request_units {
            0 => String::new(),
            units => format!(" --rebuild-request-units {units}"),
        };
        let bystanders = match self.bystanders {
            0 => String::new(),
            count => format!(" --bystanders {count}"),
        };
        let domain = match self.domain {
            Domain::Blog => "",
            Domain::WebStore => " --domain webstore",
            Domain::News => " --domain news",
        };
        format!(
            "cargo xtask chaos{domain} --seed {seed} --seeds 1 --operations {} --chaos {} --poison {}{new_ids}{no_audit}{rebuilds}{only}{budget}{bystanders}",
            self.operations, self.chaos, self.poison
        )
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == "rename") {
        return rename::main().await;
    }
    let cli = ChaosCli::parse();
    // A drop of the work under way ends its processes.
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

/// Runs one seed of the workload of the domain.
async fn seed_of(cli: &ChaosCli, chaos: &ChaosSpec, seed: u64) -> anyhow::Result<SeedOutcome> {
    let is_stale = chaos.probability(ChaosKind::Stale) > 0.0;
    let behind = if is_stale { MAX_LAG } else { Duration::ZERO };
    match cli.domain {
        Domain::Blog => {
            let size = blog::BlogSize { clients: 8, users: 5, posts: 20, reuse_ids: !cli.new_ids };
            Box::pin(run::run(cli, chaos, seed, Blog::new(size, behind).beside(cli.poison))).await
        }
        Domain::WebStore => {
            let size = webstore::WebStoreSize { clients: 8, customers: 3, labels: 3, products: 20 };
            Box::pin(run::run(cli, chaos, seed, WebStore::new(size, behind))).await
        }
        Domain::News => {
            let clock = Clock::faster(NEWS_CLOCK);
            let passes = clock.passes_in(NEWS_RUN);
            let size =
                news::NewsSize { clients: 8, items: 20, passes, poisoned: cli.poison as u64 };
            Box::pin(run::run(cli, chaos, seed, News::new(size, clock, behind))).await
        }
    }
}

async fn seeds(cli: &ChaosCli) -> anyhow::Result<bool> {
    let chaos: ChaosSpec = cli.chaos.parse()?;
    cli.rebuilt()?;
    let mut all_right = true;
    print!("{}", outcome::HEADER);
    for seed in cli.seed..cli.seed.saturating_add(cli.seeds) {
        let right = match seed_of(cli, &chaos, seed).await {
            Ok(outcome) => {
                println!("{outcome}");
                outcome.is_right()
            }
            Err(error) => {
                println!("Seed {seed} could not be run to its end: {error:#}");
                false
            }
        };
        if !right {
            all_right = false;
            println!("To see it again: {}", cli.command(seed));
        }
    }
    Ok(all_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command repeats the given options in any form.
    #[test]
    fn the_command_of_a_seed_repeats_all_options() {
        let given = ["", "--seed", "3", "--seeds", "9", "--operations", "500", "--new-ids"];
        let cli = ChaosCli::parse_from(
            [
                &given[..],
                &[
                    "--no-audit",
                    "--rebuilds",
                    "--rebuild-only",
                    "HomeFeed",
                    "--rebuild-request-units",
                    "9",
                    "--poison",
                    "7",
                    "--chaos",
                    "crash=0.5",
                ],
            ]
            .concat(),
        );
        let command = cli.command(7);
        let again: Vec<&str> = command.split(' ').collect();
        assert_eq!(again[..3], ["cargo", "xtask", "chaos"]);
        let again = ChaosCli::parse_from(&again[2..]);
        assert_eq!((again.seed, again.seeds, again.operations), (7, 1, 500));
        assert_eq!((again.poison, again.rebuild_request_units), (7, 9));
        assert_eq!(again.rebuilt().unwrap(), ["HomeFeed"]);
        assert_eq!(
            (again.chaos.as_str(), again.new_ids, again.no_audit, again.rebuilds),
            ("crash=0.5", true, true, true)
        );
        let other = ["", "--domain", "webstore", "--rebuilds", "--rebuild-only", "HomeFeed"];
        let refused = ChaosCli::parse_from(other).rebuilt().unwrap_err().to_string();
        assert!(refused.contains("HomeFeed") && refused.contains("LabelNames"), "{refused}");
        let plain = ChaosCli::parse_from([""]);
        assert_eq!(ChaosCli::parse_from(plain.command(1).split(' ').skip(2)).chaos, plain.chaos);
    }
}
