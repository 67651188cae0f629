//! Unfinished moves, which a crash has left: a run ends them before it moves others.
//!
//! A move brings an item to the container for its age at the beginning of the move. Suppose that the move
//! goes to the hottest container, and ends much later. By then readers may no longer look there for this
//! date, since a run has stored progress beyond it. So a run ends the moves from all containers before it
//! stores its progress. It stores no progress beyond the two dates of a move that cannot be ended: the
//! date under which the item is listed, and the date in its departure.
//!
//! A move that begins after the run has looked does no harm under one condition: an item goes to a
//! container only with a date that the runs from there reach later than a move takes.

use std::pin::pin;

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tributary_functions::{
    cosmos::{JsonText, Turns},
    prelude::*,
};

use super::{
    edit::{self, MoveOutcome},
    run::{MAX_CONCURRENT_MOVES, PAGE_ITEMS},
    stored::Place,
};
use crate::{News, model::Tier};

#[derive(Debug, Default)]
pub struct UnfinishedMoves {
    pub failed: u64,
    /// The first date that the runs have not passed, of the items whose moves could not be ended.
    held_at: Option<Timestamp>,
    /// True if the time was over before all moves were read.
    is_cut: bool,
}

impl UnfinishedMoves {
    pub fn hold(&self, progress: Timestamp) -> Timestamp {
        if self.is_cut {
            return Timestamp::EPOCH;
        }
        self.held_at.map_or(progress, |date| date.min(progress))
    }

    fn add(&mut self, other: &Self) {
        self.failed += other.failed;
        self.held_at = self.held_at.into_iter().chain(other.held_at).min();
        self.is_cut |= other.is_cut;
    }
}

/// Ends the move of an item that departs from a container, as the store has the item.
async fn end_move(row: &JsonText, news: &News, tier: Tier) -> Result<MoveOutcome, StoreError> {
    let (Some(id), Some(partition_key)) = (row.id(), row.field("partitionKey")) else {
        return Err(StoreError::unreadable());
    };
    let here = Place { tier, partition_key };
    retry(async |_| edit::end(news, &here, &id).await).await
}

/// Ends the unfinished moves from these containers. The runs are known to have passed the date `passed`.
pub(super) async fn end(
    news: &News,
    turns: &Turns<'_>,
    tiers: &[Tier],
    passed: Timestamp,
) -> Result<UnfinishedMoves, StoreError> {
    let mut left = UnfinishedMoves::default();
    let begin = news.now();
    for &tier in tiers {
        // A query may miss an item while others change. So the last pass ends none of the moves from before. Of
        // later ones there is no end while people write. If this clock is behind, only a pass is left out.
        loop {
            let (pass, has_ended_some) = pass(news, turns, tier, passed, begin).await?;
            if !has_ended_some || pass.is_cut {
                left.add(&pass);
                break;
            }
        }
    }
    Ok(left)
}

/// Goes once through the moves from a container. Returns the failed moves, and true if it has ended some that
/// had begun before `begin`.
async fn pass(
    news: &News,
    turns: &Turns<'_>,
    tier: Tier,
    passed: Timestamp,
    begin: Timestamp,
) -> Result<(UnfinishedMoves, bool), StoreError> {
    let query = Query::from(
        "SELECT c.id, c.partitionKey, c.publishedDate, c._ts, \
         c.departure.item.publishedDate AS arrivalDate FROM c WHERE c.state = 'departing'",
    );
    let container = news.container(tier);
    let mut pages = pin!(container.pages::<JsonText>(query, Scope::Container, PAGE_ITEMS).await?);
    let mut left = UnfinishedMoves::default();
    let mut has_ended_some = false;
    while !left.is_cut {
        let Some(page) = turns.next(pages.try_next()).await else {
            left.is_cut = true;
            break;
        };
        let Some(page) = page? else { break };
        let mut ends = stream::iter(page)
            .map(|row| async move { (turns.next(end_move(&row, news, tier).boxed()).await, row) })
            .buffer_unordered(MAX_CONCURRENT_MOVES);
        while let Some((end, row)) = ends.next().await {
            match end {
                Some(Ok(MoveOutcome::Over)) => {}
                Some(Ok(_)) => {
                    // In seconds of the store's clock.
                    let departed_at = row.field("_ts").unwrap_or_default();
                    has_ended_some |= Timestamp::from_unix_seconds(departed_at) <= Some(begin);
                }
                Some(Err(error)) => {
                    let container = container.id();
                    tracing::warn!(%error, container, item.id = row.id(), "A move cannot be ended");
                    let dates = ["publishedDate", "arrivalDate"].map(|name| row.field(name));
                    // An earlier date does not matter: no later progress hides the item under it.
                    let dates = dates.into_iter().flatten().filter(|date| *date >= passed);
                    left.add(&UnfinishedMoves { failed: 1, held_at: dates.min(), is_cut: false });
                }
                None => left.is_cut = true,
            }
        }
    }
    Ok((left, has_ended_some))
}
