//! Moves that a crash has left: a run ends them before it brings anything on.
//!
//! A move brings an item to the container of its age at the time when it began. Say that it is ended
//! much later, and that it goes to the hot container: by then readers may no longer look there for this
//! date, since the migration has written down that it has passed it. So before a migration writes down
//! how far it has come, it ends the moves from all containers. It writes down no progress beyond the
//! dates of a move that cannot be ended: neither the date under which the item is listed, nor the one
//! that it will have.
//!
//! A move that begins after the run has looked does no harm: it goes to the hot container only with a
//! date that the migration takes an hour later at the earliest ([`Ages`](super::model::Ages)).

use std::pin::pin;

use tributary_functions::{
    cosmos::{Query, Scope, StoreError, retry},
    values::Timestamp,
};

use super::{
    feeds::News,
    model::{ItemId, PartitionKey, Store},
    moves::{self, MoveOutcome},
    turns::{AT_A_TIME, PAGE, Turns},
};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::Value;

/// What a run has made of the moves that were left.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// How many moves could not be ended.
    pub(super) failed: u64,
    /// The first date, of those that the migration has not passed, of an item whose move could not be
    /// ended.
    held_at: Option<Timestamp>,
    /// True if the time was over before all were looked at.
    is_cut: bool,
}

impl Ended {
    /// Returns how much of the progress may be written down.
    pub(super) fn hold(&self, progress: Timestamp) -> Timestamp {
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
    #[serde(default)]
    published_date: Value,
    #[serde(default)]
    arrival_date: Value,
}

impl DepartingRow {
    async fn end(&self, news: &News, store: Store) -> Result<MoveOutcome, StoreError> {
        let key = PartitionKey::deserialize(&self.partition_key);
        let (Ok(key), Ok(id)) = (key, ItemId::parse(self.id.clone())) else {
            return Err(StoreError::unreadable());
        };
        retry(async |_| moves::end(news, store, &key, &id).await).await
    }

    fn dates(&self) -> impl Iterator<Item = Timestamp> {
        let dates = [&self.published_date, &self.arrival_date];
        dates.into_iter().filter_map(|date| Timestamp::deserialize(date).ok())
    }
}

/// Ends the moves that a crash has left, from these containers. `passed` is how far the migration is
/// known to have come.
pub(super) async fn end_all(
    news: &News,
    turns: &Turns<'_>,
    stores: &[Store],
    passed: Timestamp,
) -> Result<Ended, StoreError> {
    let mut ended = Ended::default();
    for &store in stores {
        // Pages may miss an item while others of them change: the last pass changes none.
        loop {
            let (pass, has_ended_some) = pass(news, turns, store, passed).await?;
            if !has_ended_some || pass.is_cut {
                ended.add(&pass);
                break;
            }
        }
    }
    Ok(ended)
}

/// Goes once through the moves from a container. Returns true if it has ended some.
async fn pass(
    news: &News,
    turns: &Turns<'_>,
    store: Store,
    passed: Timestamp,
) -> Result<(Ended, bool), StoreError> {
    let query = Query::from(
        "SELECT c.id, c.partitionKey, c.publishedDate, \
         c.departure.item.publishedDate AS arrivalDate FROM c WHERE c.state = 'departing'",
    );
    let container = news.container(store);
    let mut pages = pin!(container.pages::<DepartingRow>(query, Scope::Container, PAGE).await?);
    let (mut ended, mut has_ended_some) = (Ended::default(), false);
    while !ended.is_cut {
        let Some(page) = turns.next(pages.try_next()).await else {
            ended.is_cut = true;
            break;
        };
        let Some(page) = page? else { break };
        let mut ends = stream::iter(page)
            .map(|row| async move { (turns.next(row.end(news, store).boxed()).await, row) })
            .buffer_unordered(AT_A_TIME);
        while let Some((end, row)) = ends.next().await {
            match end {
                Some(Ok(MoveOutcome::Over)) => {}
                Some(Ok(_)) => has_ended_some = true,
                Some(Err(error)) => {
                    let (container, id) = (container.id(), &row.id);
                    tracing::warn!(%error, container, item.id = id, "A move cannot be ended");
                    // An earlier date does not matter: the item is hidden under it by no progress to come.
                    let dates = row.dates().filter(|date| *date >= passed);
                    ended.add(&Ended { failed: 1, held_at: dates.min(), is_cut: false });
                }
                None => ended.is_cut = true,
            }
        }
    }
    Ok((ended, has_ended_some))
}
