//! `cargo xtask bench`: the cost of the handler. `docs/performance.md` has its numbers.

mod cold_start;
mod lag;
mod large;
mod load;
mod models;
mod overhead;
mod worst;

mod handler;
mod process;
mod world;

mod machine;
mod report;

use clap::Parser;
use mimalloc::MiMalloc;
use tokio::runtime::{self, Runtime};

/// For the clients and the store. The handler is another process, with its deployed allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measures the release build of the handler against the local Cosmos DB endpoint; `cargo xtask bench store` the local
/// store alone.
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
    Worst,
    /// The lag of the projections under a steady load.
    Lag(lag::LagOptions),
    /// The time of what touches 100,000 items, renames and migration, and the changes a second through each projection.
    Large(large::LargeOptions),
    /// The ten requests of the article on its data models V1, V2 and V3, side by side.
    Models(models::ModelsOptions),
}

fn main() -> anyhow::Result<()> {
    let bench = Bench::parse();
    let runtime = Runtime::new()?;
    let background = runtime.handle();
    let work = async {
        match &bench {
            Bench::ColdStart(options) => cold_start::run(options).await,
            Bench::Overhead(options) => overhead::run(options, background).await,
            Bench::Load(options) => load::run(options).await,
            Bench::Worst => worst::run().await,
            Bench::Lag(options) => lag::run(options).await,
            Bench::Large(options) => large::run(options).await,
            Bench::Models(options) => models::run(options).await,
        }
    };
    // Ctrl-C drops the work and so ends its processes.
    let until_ctrl_c = async {
        tokio::select! {
            result = work => result,
            _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("ended by Ctrl-C")),
        }
    };
    if matches!(bench, Bench::Overhead(_)) {
        // One thread plays the Functions host: wake-ups between it and the endpoint's threads would
        // count as the handler's time.
        return runtime::Builder::new_current_thread().enable_all().build()?.block_on(until_ctrl_c);
    }
    runtime.block_on(until_ctrl_c)
}
