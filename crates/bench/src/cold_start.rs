//! To be written.

/// To be written.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

pub(crate) async fn run(_options: &Options) -> anyhow::Result<()> {
    anyhow::bail!("to be written")
}
