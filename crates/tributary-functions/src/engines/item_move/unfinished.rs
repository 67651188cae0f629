//! Unfinished moves, which a crash has left: a run ends them before it relocates items.
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
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    places::Places,
    protocol::{self, MoveOutcome},
    stored::{Content, ItemPlace},
};
use crate::{
    cosmos::{JsonText, Query, Scope, StoreError, Turns, retry},
    values::Timestamp,
};

/// The departing items of one page of the query.
const PAGE_ITEMS: u32 = 100;

/// The moves that are ended at a time.
const MAX_CONCURRENT_MOVES: usize = 8;

/// The unfinished moves that a run has found.
#[derive(Debug, Default)]
pub struct UnfinishedMoves {
    /// The number of moves that could not be ended.
    pub failed: u64,
    /// The first date that the runs have not passed, of the items whose moves could not be ended.
    held_at: Option<Timestamp>,
    /// True if the time was over before all moves were read.
    is_cut: bool,
}

impl UnfinishedMoves {
    /// Returns the part of a progress that may be stored.
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

/// A departing item, as the store has it.
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
    JsonText::from(value).parse()
}

/// Ends the unfinished moves from these containers. The runs are known to have passed the date `passed`.
pub async fn end_unfinished<P: Places>(
    places: &P,
    turns: &Turns<'_>,
    tiers: &[<P::Content as Content>::Tier],
    passed: Timestamp,
) -> Result<UnfinishedMoves, StoreError> {
    let mut left = UnfinishedMoves::default();
    for &tier in tiers {
        // A query may miss an item while others change. So the last pass is one that changes none.
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

/// Goes once through the moves from a container. Returns the failed moves, and true if it has ended some.
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
    let mut left = UnfinishedMoves::default();
    let mut has_ended_some = false;
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
                    let container = container.id();
                    let id = &row.id;
                    tracing::warn!(%error, container, item.id = id, "A move cannot be ended");
                    // An earlier date does not matter: no later progress hides the item under it.
                    let dates = row.dates().filter(|date| *date >= passed);
                    left.add(&UnfinishedMoves { failed: 1, held_at: dates.min(), is_cut: false });
                }
                None => left.is_cut = true,
            }
        }
    }
    Ok((left, has_ended_some))
}
