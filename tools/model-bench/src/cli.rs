//! The options.

use clap::{Parser, Subcommand};

use crate::{blog::BlogCli, feeds::FeedsCli};

/// Measures the ten requests of the blog on the data models V1, V2 and V3 of Microsoft's article "How
/// to model and partition data on Azure Cosmos DB", and shows the article's figures beside them.
///
/// V3 is the product's own code. Without --cosmos each model gets the local Cosmos DB endpoint in this
/// process: its request units are modelled, its latencies are those of an emulator that scans.
/// docs/models.md explains the numbers.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "model-bench",
    bin_name = "cargo run --release -p model-bench --",
    args_conflicts_with_subcommands = true
)]
pub(crate) struct ModelCli {
    #[command(subcommand)]
    pub(crate) other: Option<OtherFamily>,

    #[command(flatten)]
    pub(crate) blog: BlogCli,
}

/// Models of something other than the blog.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum OtherFamily {
    /// Measures the partitioning guide's four architectures for news feeds.
    Feeds(FeedsCli),
}
