//! Where a report goes.

use std::path::PathBuf;

use clap::Args;

/// Where the report goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Output {
    /// Writes everything as JSON, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Writes a report with charts, too: one HTML file that needs no other.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Prints the tables as Markdown, as they are in the docs.
    #[arg(long)]
    pub(crate) markdown: bool,
}
