//! One rename, from the sign-up to the comparison.

use std::fmt;

use anyhow::ensure;
use azure_data_cosmos::DatabaseClient;
use tributary_local::cosmos::RequestKind;

use super::{
    RenameCli,
    author::{self, AFTER, ANN, BEFORE, BOB},
    stage::{POSTS, Stage, Worked},
};

/// The number of replacements for each item must be less than this.
const MAX_WRITES_PER_ITEM: f64 = 1.05;

/// The outcome of a rename.
pub(super) struct RenameOutcome {
    items: usize,
    worked: Worked,
    divergences: Vec<String>,
}

/// Renames a user with many items.
pub(super) async fn run(cli: &RenameCli) -> anyhow::Result<RenameOutcome> {
    let items = cli.items.unwrap_or(20_000);
    ensure!(items >= 10, "--items must be at least 10");
    let write = async |database: &DatabaseClient| author::write_items(database, items).await;
    let stage = Stage::start(cli, POSTS, None, write).await?;
    let database = &stage.database;
    stage.put_user(ANN, BEFORE).await?;
    stage.put_user(BOB, BOB).await?;
    stage.quiet().await;

    let rename = async || stage.put_user(ANN, AFTER).await;
    // A count costs the store time: only if the end is possible.
    let is_done = async |sent| Ok(sent >= items && author::is_renamed(database).await?);
    let worked = stage.work(RequestKind::Replace, rename, is_done).await?;
    let mut divergences = author::check_names(database, items).await?;
    if !cli.alone {
        divergences.extend(author::check_copies(database, items).await?);
    }
    stage.host.stop().await;
    Ok(RenameOutcome { items, worked, divergences })
}

impl RenameOutcome {
    fn writes_per_item(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
        let ratio = self.worked.sent as f64 / self.items as f64;
        ratio
    }

    pub(super) fn is_right(&self) -> bool {
        self.divergences.is_empty() && self.writes_per_item() < MAX_WRITES_PER_ITEM
    }
}

impl fmt::Display for RenameOutcome {
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
