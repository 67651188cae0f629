//! `cargo xtask bench`: what the handler takes. `docs/performance.md` has its numbers.

mod cold_start;
mod feed;
mod hot_post;
mod load;
mod overhead;

mod handler;
mod http;
mod process;
mod world;

mod machine;
mod stats;
mod table;

use std::process::ExitCode;

use clap::Parser;

/// Measures the release build of the handler against the local Cosmos DB endpoint.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask bench")]
enum Bench {
    /// From the start of the process to its first answers.
    ColdStart(cold_start::Options),
    /// What the handler adds to the SDK's own call.
    Overhead(overhead::Options),
    /// Requests a second at saturation, and the memory that stays.
    Load(load::Options),
    /// Changes a second through each projection, and its lag.
    Feed(feed::Options),
    /// Many likers and commenters of one post.
    HotPost(hot_post::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let bench = Bench::parse();
    let run = async {
        match bench {
            Bench::ColdStart(options) => cold_start::run(&options).await,
            Bench::Overhead(options) => overhead::run(&options).await,
            Bench::Load(options) => load::run(&options).await,
            Bench::Feed(options) => feed::run(&options).await,
            Bench::HotPost(options) => hot_post::run(&options).await,
        }
    };
    // Dropping what is under way ends its processes.
    let result = tokio::select! {
        result = run => result,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("ended by Ctrl-C")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
