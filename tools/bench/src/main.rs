//! `cargo xtask bench`: what the handler takes. `docs/performance.md` has its numbers.

mod cold_start;
mod feed;
mod hot_post;
mod load;
mod logins;
mod news;
mod overhead;
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

/// Of this process: the clients and the store. The handler is another, with the allocator that it has
/// when it is deployed.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measures the release build of the handler against the local Cosmos DB endpoint.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask bench")]
enum Bench {
    /// From the start of the process to its first answers.
    ColdStart(cold_start::Options),
    /// What the handler adds to the SDK's own call.
    Overhead(overhead::Options),
    /// What measuring the use of logical partitions adds to a store operation.
    Partitions(partitions::Options),
    /// Requests a second at saturation, and the memory that stays.
    Load(load::Options),
    /// Levels of optimisation for what is deployed, side by side.
    Profiles(profiles::Options),
    /// The dearest request of each HTTP function, found by a generator, beside its limits.
    Worst(worst::Options),
    /// The largest feed, asked for by many clients at the same time.
    WorstFeed(worst_feed::Options),
    /// Many who log in at the same time, beside readers.
    Logins(logins::Options),
    /// Changes a second through each projection, and its lag.
    Feed(feed::Options),
    /// Many likers and commenters of one post.
    HotPost(hot_post::Options),
    /// Items that come in one by one and in bulk, and the queries of readers.
    News(news::Options),
}

fn main() -> ExitCode {
    let bench = Bench::parse();
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
            // One thread plays the Functions host: the endpoint's threads do not wake it, nor it them,
            // which would count as the handler's.
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
        Bench::HotPost(options) => runtime.block_on(or_ctrl_c(hot_post::run(options))),
        Bench::News(options) => runtime.block_on(or_ctrl_c(news::run(options))),
    }
}

/// Ctrl-C drops what is under way, which ends its processes.
async fn or_ctrl_c(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::select! {
        result = work => result,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("ended by Ctrl-C")),
    }
}
