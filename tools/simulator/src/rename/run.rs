//! One rename, from the sign-up to the comparison.

use std::fmt;

use anyhow::ensure;
use azure_data_cosmos::DatabaseClient;
use tributary_local::cosmos::RequestKind;

use super::{
    Cli,
    author::{self, AFTER, ANN, BEFORE, BOB},
    stage::{POSTS, Stage, Worked},
};

/// Replacements for each item must be fewer than this.
const MOST_WRITES: f64 = 1.05;

/// What came of a rename.
pub(super) struct Outcome {
    items: usize,
    worked: Worked,
    divergences: Vec<String>,
}

/// Renames a user with many items.
pub(super) async fn run(cli: &Cli) -> anyhow::Result<Outcome> {
    let items = cli.items.unwrap_or(20_000);
    ensure!(items >= 10, "--items must be at least 10");
    let write = async |database: &DatabaseClient| author::write_items(database, items).await;
    let stage = Stage::start(cli, POSTS, None, write).await?;
    let database = &stage.database;
    stage.put_user(ANN, BEFORE).await?;
    stage.put_user(BOB, BOB).await?;
    stage.quiet().await;

    let rename = async || stage.put_user(ANN, AFTER).await;
    // Counting is work for the store: only when it can be done.
    let is_done = async |sent| Ok(sent >= items && author::is_renamed(database).await?);
    let worked = stage.work(RequestKind::Replace, rename, is_done).await?;
    let mut divergences = author::check_names(database, items).await?;
    if !cli.alone {
        divergences.extend(author::check_copies(database, items).await?);
    }
    stage.host.stop().await;
    Ok(Outcome { items, worked, divergences })
}

impl Outcome {
    fn writes_per_item(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
        let ratio = self.worked.sent as f64 / self.items as f64;
        ratio
    }

    pub(super) fn is_right(&self) -> bool {
        self.divergences.is_empty() && self.writes_per_item() < MOST_WRITES
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Worked { kills, sent, .. } = &self.worked;
        write!(
            f,
            "{} items, handler killed {kills} times: {sent} replacements ({:.3} for each item), {}",
            self.items,
            self.writes_per_item(),
            self.worked.in_words(&self.divergences)
        )
    }
}
