//! The outputs of a report.

use std::path::PathBuf;

use clap::Args;

/// The outputs of a report.
#[derive(Clone, Debug, Args)]
pub(crate) struct OutputOptions {
    /// Writes everything as JSON, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Writes a report with charts, too: one HTML file that needs no other.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Prints the tables as Markdown, in the form of the docs.
    #[arg(long)]
    pub(crate) markdown: bool,
}
