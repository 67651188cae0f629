//! `cargo xtask bench`: the cost of the handler. `docs/performance.md` has its numbers.

mod cold_start;
mod deployed;
mod eager;
mod feed;
mod hot_post;
mod load;
mod logins;
mod news;
mod overhead;
mod own_writes;
mod partitions;
mod profiles;
mod worst;
mod worst_feed;

mod handler;
mod http;
mod process;
mod world;

mod machine;

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use tokio::runtime::{self, Runtime};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// The allocator of this process: the clients and the store. The handler is another process, with its
/// deployed allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measures the release build of the handler against the local Cosmos DB endpoint.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask bench")]
enum Bench {
    /// The time from the start of the process to its first answers.
    ColdStart(cold_start::ColdStartOptions),
    /// The overhead of the handler over the SDK's own call.
    Overhead(overhead::OverheadOptions),
    /// The overhead of the meter of logical partitions over a store operation.
    Partitions(partitions::PartitionsOptions),
    /// Requests a second at saturation, and the growth of the memory.
    Load(load::LoadOptions),
    /// Levels of optimisation for the deployed build, side by side.
    Profiles(profiles::ProfilesOptions),
    /// The dearest request of each HTTP function, found by a generator, beside its limits.
    Worst(worst::WorstOptions),
    /// The largest feed, requested by many clients at the same time.
    WorstFeed(worst_feed::WorstFeedOptions),
    /// Many logins at the same time, beside readers.
    Logins(logins::LoginsOptions),
    /// Changes a second through each projection, and its lag.
    Feed(feed::FeedBenchOptions),
    /// Projections that are applied by the instance of the command, beside the change feed alone.
    Eager(eager::EagerBenchOptions),
    /// Clients that read every list that shows their write, at once, at another instance. The exit code is 1 when a
    /// list lacks it.
    OwnWrites(own_writes::OwnWritesOptions),
    /// Many likers and commenters of one post.
    HotPost(hot_post::HotPostOptions),
    /// Items that are posted one by one and in bulk, and the queries of readers.
    News(news::NewsOptions),
}

fn main() -> ExitCode {
    let bench = Bench::parse();
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::OFF.into());
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(filter.from_env_lossy())
        .init();
    match run(&bench) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(bench: &Bench) -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    match bench {
        Bench::ColdStart(options) => runtime.block_on(or_ctrl_c(cold_start::run(options))),
        Bench::Overhead(options) => {
            let background = runtime.handle();
            // One thread plays the Functions host: wake-ups between it and the endpoint's threads would
            // count as the handler's time.
            let host = runtime::Builder::new_current_thread().enable_all().build()?;
            host.block_on(or_ctrl_c(overhead::run(options, background)))
        }
        Bench::Partitions(options) => runtime.block_on(or_ctrl_c(partitions::run(options))),
        Bench::Load(options) => runtime.block_on(or_ctrl_c(load::run(options))),
        Bench::Profiles(options) => runtime.block_on(or_ctrl_c(profiles::run(options))),
        Bench::Worst(options) => runtime.block_on(or_ctrl_c(worst::run(options))),
        Bench::WorstFeed(options) => runtime.block_on(or_ctrl_c(worst_feed::run(options))),
        Bench::Logins(options) => runtime.block_on(or_ctrl_c(logins::run(options))),
        Bench::Feed(options) => runtime.block_on(or_ctrl_c(feed::run(options))),
        Bench::Eager(options) => runtime.block_on(or_ctrl_c(eager::run(options))),
        Bench::OwnWrites(options) => runtime.block_on(or_ctrl_c(own_writes::run(options))),
        Bench::HotPost(options) => runtime.block_on(or_ctrl_c(hot_post::run(options))),
        Bench::News(options) => runtime.block_on(or_ctrl_c(news::run(options))),
    }
}

/// Runs work until Ctrl-C, which drops it and so ends its processes.
async fn or_ctrl_c(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::select! {
        result = work => result,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("ended by Ctrl-C")),
    }
}
