//! The options of all parts.

use clap::Args;

/// The options of all parts.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The domain of the part, if the app has several.
    #[arg(long, value_name = "NAME")]
    pub domain: Option<String>,

    /// Print the changes and write nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Leave functions/ as it is, and build nothing. Later: cargo run -- functions
    #[arg(long)]
    pub without_functions: bool,
}
