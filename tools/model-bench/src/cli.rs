//! The options.

use clap::Parser;

use crate::blog::BlogCli;

/// Measures the ten requests of the blog on the data models V1, V2 and V3 of Microsoft's article "How
/// to model and partition data on Azure Cosmos DB", and shows the article's figures beside them.
///
/// V3 is the product's own code. Without --cosmos each model gets the local Cosmos DB endpoint in this
/// process: its request units are modelled, its latencies are those of an emulator that scans.
/// docs/models.md explains the numbers.
#[derive(Clone, Debug, Parser)]
#[command(name = "model-bench", bin_name = "cargo run --release -p model-bench --")]
pub(crate) struct ModelCli {
    #[command(flatten)]
    pub(crate) blog: BlogCli,
}
