//! What is due to go to a colder container, and how a run brings it there in a slice of time.
//!
//! A run asks for what is due, oldest first, and brings it over, item by item
//! ([`relocation`](crate::engines::relocation)). What is done is due no more, so the next run goes on
//! where this one has stopped, whatever stopped it.
//!
//! *Nothing that is not in a colder container expires*: an item gets its time to live only with the
//! mark that it is there. So a migration that is late, or does not run at all, loses nothing; its lag
//! is measured, and there is an alert on it.

use std::{collections::BTreeMap, time::Duration};

use futures::{StreamExt, stream};
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    feeds::News,
    model::{ItemId, NewsItem, PartitionKey, Store},
    moves,
};
use crate::{
    cosmos::{Query, Scope, StoreError, retry},
    engines::relocation::{Relocation, carry},
    projection::Background,
    values::Timestamp,
};

/// How many items are asked for at once, and how many of them are worked on at a time.
const PAGE: u32 = 100;
const AT_A_TIME: usize = 8;

/// How long a run may take. A function of the host has 10 minutes, a caller over HTTP 230 seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice(pub(super) Duration);

impl Slice {
    /// For a timer.
    pub(super) const TIMER: Self = Self(Duration::from_mins(4));
    /// For a caller who waits.
    pub(super) const CALL: Self = Self(Duration::from_mins(1));
}

/// What a run has done.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Items that were brought to the colder container, by their partitions.
    pub(super) moved: BTreeMap<PartitionKey, u64>,
    /// Items that were there, by an earlier run that did not end.
    pub(super) already_there: u64,
    /// Items that could not be brought there.
    pub(super) failed: u64,
    /// When the oldest item was published that is left.
    pub(super) oldest_left: Option<Timestamp>,
    /// Whether all that was due is done.
    pub(super) is_complete: bool,
}

impl Done {
    /// How many items were brought over.
    pub(super) fn n_moved(&self) -> u64 {
        self.moved.values().sum()
    }

    fn count(&mut self, due: &Due, relocation: Result<Relocation, StoreError>) {
        match relocation {
            Ok(Relocation::Moved) => *self.moved.entry(due.partition_key.clone()).or_default() += 1,
            Ok(Relocation::AlreadyThere) => self.already_there += 1,
            Ok(Relocation::Nothing) => {}
            Err(error) => {
                tracing::warn!(%error, item.id = due.id.as_str(), "An item stays where it is");
                self.failed += 1;
                self.leave(due.published_date);
            }
        }
    }

    fn leave(&mut self, published: Timestamp) {
        self.oldest_left = Some(self.oldest_left.map_or(published, |one| one.min(published)));
    }
}

/// An item that is due.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Due {
    id: ItemId,
    pub(super) partition_key: PartitionKey,
    published_date: Timestamp,
}

/// What is due in a container.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dues {
    pub(super) from: Store,
    pub(super) to: Store,
    /// What was published before.
    pub(super) before: Timestamp,
    /// Whole partitions alone: those that ended before.
    pub(super) whole_partitions: bool,
}

impl Dues {
    /// Returns true if an item is due, and not only old.
    pub(super) fn includes(&self, due: &Due) -> bool {
        let end = due.partition_key.period().map(|period| Timestamp::from(period.end()));
        !self.whole_partitions || end.is_some_and(|end| end <= self.before)
    }

    /// Returns the next items that are due, oldest first, after one.
    pub(super) async fn page(
        &self,
        news: &News,
        after: Option<&Due>,
    ) -> Result<Vec<Due>, StoreError> {
        let page = match after {
            Some(_) => " AND c.publishedDate >= @date AND (c.publishedDate > @date OR c.id > @id)",
            None => "",
        };
        let text = format!(
            "SELECT TOP @top c.id, c.partitionKey, c.publishedDate FROM c \
             WHERE c.state = 'live' AND c.publishedDate < @before{page} \
             ORDER BY c.state ASC, c.publishedDate ASC, c.id ASC"
        );
        let mut query = Query::from(text)
            .with_parameter("@top", PAGE)?
            .with_parameter("@before", self.before)?;
        if let Some(Due { id, published_date, .. }) = after {
            query = query.with_parameter("@date", published_date)?.with_parameter("@id", id)?;
        }
        news.container(self.from).query(query, Scope::Container, PAGE).await
    }

    /// Brings over what is due, until all of it is done or the slice is over.
    pub(super) async fn relocate(
        self,
        news: &News,
        background: &Background,
        slice: Slice,
    ) -> Result<Done, StoreError> {
        let (news, deadline) = (news.in_background(), Instant::now() + slice.0);
        let mut done = Done::default();
        end_moves(&news, self.from).await?;
        let mut last = None;
        loop {
            let page = self.page(&news, last.as_ref()).await?;
            let Some(end) = page.last().cloned() else {
                done.is_complete = done.failed == 0;
                return Ok(done);
            };
            let due: Vec<Due> = page.into_iter().filter(|due| self.includes(due)).collect();
            let (from, to) = (news.container(self.from), news.container(self.to));
            let mut ends = stream::iter(due)
                .map(|due| async move {
                    let (key, id) = (due.partition_key.as_str(), due.id.as_str());
                    let carried = retry(async |_| carry::<NewsItem>(from, to, key, id).await);
                    let carried = background.pacer.run(deadline, carried).await;
                    (due, carried)
                })
                .buffer_unordered(AT_A_TIME);
            let mut is_over = false;
            while let Some((due, end)) = ends.next().await {
                if let Some(end) = end {
                    done.count(&due, end);
                } else {
                    is_over = true;
                    done.leave(due.published_date);
                }
            }
            if is_over {
                return Ok(done);
            }
            last = Some(end);
        }
    }
}

/// Ends the moves from a container that a crash has left.
pub(super) async fn end_moves(news: &News, store: Store) -> Result<(), StoreError> {
    let query = Query::from(
        "SELECT TOP @top c.id, c.partitionKey, c.publishedDate FROM c \
         WHERE c.state = 'departing'",
    )
    .with_parameter("@top", PAGE)?;
    let departing: Vec<Due> = news.container(store).query(query, Scope::Container, PAGE).await?;
    for Due { id, partition_key, .. } in departing {
        retry(async |_| moves::end(news, store, &partition_key, &id).await).await?;
    }
    Ok(())
}
