//! `cargo xtask bench`: the cost of the handler. `docs/performance.md` has its numbers.

mod cold_start;
mod feed;
mod load;
mod models;
mod overhead;
mod worst;

mod handler;
mod process;
mod world;

mod machine;
mod report;

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
    /// Requests a second at saturation, and the growth of the memory.
    Load(load::LoadOptions),
    /// The dearest request of each HTTP function, found by a generator, beside its limits.
    Worst(worst::WorstOptions),
    /// Changes a second through each projection, and its lag.
    Feed(feed::FeedBenchOptions),
    /// The ten requests of the article on its data models V1, V2 and V3, side by side.
    Models(models::ModelsOptions),
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
        Bench::Load(options) => runtime.block_on(or_ctrl_c(load::run(options))),
        Bench::Worst(options) => runtime.block_on(or_ctrl_c(worst::run(options))),
        Bench::Feed(options) => runtime.block_on(or_ctrl_c(feed::run(options))),
        Bench::Models(options) => runtime.block_on(or_ctrl_c(models::run(options))),
    }
}

/// Runs work until Ctrl-C, which drops it and so ends its processes.
async fn or_ctrl_c(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::select! {
        result = work => result,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("ended by Ctrl-C")),
    }
}
