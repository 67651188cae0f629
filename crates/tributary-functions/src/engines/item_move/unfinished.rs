//! Moves that a crash has left: a run ends them before it brings anything on.
//!
//! A move brings an item to the container of its age at the time when it began. Say that it is ended
//! much later, and that it goes to the hottest container: by then readers may no longer look there for
//! this date, since a run has written down that it has passed it. So before a run writes down how far it
//! has come, it ends the moves from all containers. It writes down no progress beyond the dates of a
//! move that cannot be ended: neither the date under which the item is listed, nor the one that it will
//! have.
//!
//! A move that begins after the run has looked does no harm as long as an item goes to a container only
//! with a date that the runs from there take a while later: longer than a move takes.

use std::pin::pin;

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    places::Places,
    protocol::{self, MoveOutcome},
    stored::{Content, ItemPlace},
};
use crate::{
    cosmos::{Query, Scope, StoreError, Turns, retry},
    values::Timestamp,
};

/// The departing items of one page of the query, and those of them that are worked on at a time.
const PAGE_ITEMS: u32 = 100;
const MAX_CONCURRENT_MOVES: usize = 8;

/// The moves that were left, as a run has found and ended them.
#[derive(Debug, Default)]
pub struct UnfinishedMoves {
    /// The number of moves that could not be ended.
    pub failed: u64,
    /// The first date, of those that the runs have not passed, of an item whose move could not be ended.
    held_at: Option<Timestamp>,
    /// True if the time was over before all were looked at.
    is_cut: bool,
}

impl UnfinishedMoves {
    /// Returns how much of the progress may be written down.
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

/// An item that departs, as the store has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DepartingRow {
    id: String,
    #[serde(default)]
    partition_key: Value,
    #[serde(flatten)]
    dates: Map<String, Value>,
}

impl DepartingRow {
    async fn end<P: Places>(
        &self,
        places: &P,
        tier: <P::Content as Content>::Tier,
    ) -> Result<MoveOutcome<P::Content>, StoreError> {
        let Some(partition_key) = value(&self.partition_key) else {
            return Err(StoreError::unreadable());
        };
        let here = ItemPlace { tier, partition_key };
        retry(async |_| protocol::end(places, &here, &self.id).await).await
    }

    fn dates(&self) -> impl Iterator<Item = Timestamp> {
        self.dates.values().filter_map(value)
    }
}

/// Returns a value of a row, if it can be read.
fn value<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

/// Ends the moves that a crash has left, from these containers. `passed` is how far the runs are known
/// to have come.
pub async fn end_unfinished<P: Places>(
    places: &P,
    turns: &Turns<'_>,
    tiers: &[<P::Content as Content>::Tier],
    passed: Timestamp,
) -> Result<UnfinishedMoves, StoreError> {
    let mut left = UnfinishedMoves::default();
    for &tier in tiers {
        // Pages may miss an item while others of them change: the last pass changes none.
        loop {
            let (pass, has_ended_some) = pass(places, turns, tier, passed).await?;
            if !has_ended_some || pass.is_cut {
                left.add(&pass);
                break;
            }
        }
    }
    Ok(left)
}

/// Goes once through the moves from a container. Returns true if it has ended some.
async fn pass<P: Places>(
    places: &P,
    turns: &Turns<'_>,
    tier: <P::Content as Content>::Tier,
    passed: Timestamp,
) -> Result<(UnfinishedMoves, bool), StoreError> {
    let date = P::Content::DATE;
    let query = Query::from(format!(
        "SELECT c.id, c.partitionKey, c.{date}, \
         c.departure.item.{date} AS arrivalDate FROM c WHERE c.state = 'departing'"
    ));
    let container = places.container(tier);
    let mut pages =
        pin!(container.pages::<DepartingRow>(query, Scope::Container, PAGE_ITEMS).await?);
    let (mut left, mut has_ended_some) = (UnfinishedMoves::default(), false);
    while !left.is_cut {
        let Some(page) = turns.next(pages.try_next()).await else {
            left.is_cut = true;
            break;
        };
        let Some(page) = page? else { break };
        let mut ends = stream::iter(page)
            .map(|row| async move { (turns.next(row.end(places, tier).boxed()).await, row) })
            .buffer_unordered(MAX_CONCURRENT_MOVES);
        while let Some((end, row)) = ends.next().await {
            match end {
                Some(Ok(MoveOutcome::Over)) => {}
                Some(Ok(_)) => has_ended_some = true,
                Some(Err(error)) => {
                    let (container, id) = (container.id(), &row.id);
                    tracing::warn!(%error, container, item.id = id, "A move cannot be ended");
                    // An earlier date does not matter: the item is hidden under it by no progress to come.
                    let dates = row.dates().filter(|date| *date >= passed);
                    left.add(&UnfinishedMoves { failed: 1, held_at: dates.min(), is_cut: false });
                }
                None => left.is_cut = true,
            }
        }
    }
    Ok((left, has_ended_some))
}
