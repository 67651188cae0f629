//! The removal of the copies of a retired projection
//! ([`succession`](crate::projection::succession) has the argument why it ends right).
//!
//! A pass reads the container page by page and deletes what it finds, each item under its ETag. A pass that has
//! found nothing ends the removal. So no position is stored, and two workers at once only cost more.

use std::{pin::pin, time::Duration};

use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::Rebuilds;
use crate::{
    cosmos::{Attempt, Container, ETag, Query, Reads, Reason, Scope, StoreError, metered, retry},
    projection::{
        control::{ProjectionState, RemovalProgress, Retirement},
        succession::Succession,
    },
    values::Timestamp,
};

/// The items that are deleted in one turn: some 350 request units.
const PAGE_ITEMS: u32 = 50;

/// The items that are deleted at the same time.
const CONCURRENT_DELETES: usize = 8;

/// The pause between two looks at the time from which the removal may begin.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The end of a run of the removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalResult {
    /// No copy is left that can be deleted.
    Done,
    /// The time of the run was over. The timer or another run goes on.
    OutOfTime,
    /// The removal may not begin before this time.
    NotYet(Timestamp),
    /// There is nothing to remove: the switch is not confirmed, or the copies have no container of their own.
    NoRemoval,
}

/// An item that is to be deleted.
#[derive(Deserialize)]
struct RetiredCopy {
    id: String,
    etag: String,
    /// The partition key. None is a text in an item of the app.
    #[serde(default, rename = "partitionKey")]
    partition: Value,
}

impl Rebuilds {
    /// Removes the copies of a retired projection until none is left, or until the deadline. Calls `report`
    /// after each page. A removal that has ended begins again if there are copies: a late writer has made them.
    pub async fn remove_retired(
        &self,
        succession: &Succession,
        deadline: Option<Instant>,
        report: &mut (dyn FnMut(&Retirement) + Send),
    ) -> Result<RemovalResult, StoreError> {
        let Some(container) = succession.removed_container() else {
            return Ok(RemovalResult::NoRemoval);
        };
        let Some(retirement) = self.retirement(succession).await? else {
            return Ok(RemovalResult::NoRemoval);
        };
        if Timestamp::now() < retirement.removes_from {
            return Ok(RemovalResult::NotYet(retirement.removes_from));
        }
        // An index has an item as soon as it is written; a replica may lack it.
        let container = container.latest_committed().in_background();
        if retirement.ended_at.is_some() && !has_items(&container).await? {
            return Ok(RemovalResult::Done);
        }
        let partition_key = container.partition_key_in_query().await?;
        loop {
            let pass = self.remove_pass(succession, &container, &partition_key, deadline, report);
            let Some((found, left)) = pass.await? else {
                return Ok(RemovalResult::OutOfTime);
            };
            if found == left {
                let end = |retirement: &mut Retirement| {
                    retirement.progress.left = left;
                    retirement.ended_at = Some(Timestamp::now());
                };
                if let Some(ended) = self.note(succession, &end).await? {
                    report(&ended);
                    let RemovalProgress { removed, left, .. } = ended.progress;
                    let projection = succession.old();
                    tracing::info!(
                        projection,
                        removed,
                        left,
                        "Removed the copies of a retired projection"
                    );
                }
                return Ok(RemovalResult::Done);
            }
        }
    }

    /// Waits until the removal may begin.
    pub async fn wait_for_removal(&self, begins: Timestamp) {
        while Timestamp::now() < begins {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Deletes what a query of the container returns. Returns the numbers of the items that were found, and of
    /// those that cannot be deleted; `None` if the time is over.
    async fn remove_pass(
        &self,
        succession: &Succession,
        container: &Container,
        partition_key: &str,
        deadline: Option<Instant>,
        report: &mut (dyn FnMut(&Retirement) + Send),
    ) -> Result<Option<(u64, u64)>, StoreError> {
        let query = format!("SELECT c.id, c._etag AS etag, {partition_key} AS partitionKey FROM c");
        let pages = container.pages::<RetiredCopy>(query.into(), Scope::Container, PAGE_ITEMS);
        let mut pages = pin!(pages.await?);
        let mut found = 0;
        let mut left = 0;
        loop {
            let pacer = &self.background.pacer;
            let (page, read) = pacer.charge(metered(pages.try_next())).await;
            let Some(page) = page? else { return Ok(Some((found, left))) };
            found += page.len() as u64;
            let turn = pacer.run(deadline, metered(delete_all(container, page))).await;
            let Some((deleted, deletes)) = turn else { return Ok(None) };
            let (removed, kept, error) = deleted;
            left += kept;
            let add = |retirement: &mut Retirement| {
                retirement.ended_at = None;
                retirement.progress.removed += removed;
                retirement.progress.request_units += read.request_units() + deletes.request_units();
            };
            if let Some(retirement) = self.note(succession, &add).await? {
                report(&retirement);
            }
            if let Some(error) = error {
                return Err(error);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(None);
            }
        }
    }

    /// Returns the retirement of a projection in its latest committed state.
    async fn retirement(&self, succession: &Succession) -> Result<Option<Retirement>, StoreError> {
        let states = self.projections.states().reading(Reads::Latest);
        let (state, _) = states.read(succession.old()).await?;
        let switch = state.switch_to(succession.successor());
        Ok(switch.and_then(|switch| switch.retirement.clone()))
    }

    /// Changes the retirement of a projection, and returns it.
    async fn note(
        &self,
        succession: &Succession,
        change: &(dyn Fn(&mut Retirement) + Sync),
    ) -> Result<Option<Retirement>, StoreError> {
        retry(async |Attempt { .. }| {
            let states = self.projections.states().reading(Reads::Latest);
            let (state, etag) = states.read(succession.old()).await?;
            let Some(mut switch) = state.switch_to(succession.successor()).cloned() else {
                return Ok(None);
            };
            let Some(retirement) = &mut switch.retirement else { return Ok(None) };
            change(retirement);
            let changed = retirement.clone();
            let next = ProjectionState { switch: Some(switch), ..state };
            states.put(&next, etag.as_ref()).await?;
            Ok(Some(changed))
        })
        .await
    }
}

/// Deletes items. Returns the numbers of those that were deleted, and of those that cannot be, and the first error.
async fn delete_all(
    container: &Container,
    page: Vec<RetiredCopy>,
) -> (u64, u64, Option<StoreError>) {
    let deletes = page.into_iter().map(|copy| async move {
        let Value::String(partition) = &copy.partition else { return Ok(None) };
        let deleted = container.delete(partition, &copy.id, &ETag::from(copy.etag)).await;
        match deleted {
            Ok(()) => Ok(Some(1)),
            // Another worker was here, or a late writer: the next pass finds its copy.
            Err(error) if matches!(error.reason, Reason::NotFound) || error.is_race() => {
                Ok(Some(0))
            }
            Err(error) => Err(error),
        }
    });
    let mut deletes = pin!(stream::iter(deletes).buffer_unordered(CONCURRENT_DELETES));
    let (mut removed, mut left, mut first) = (0, 0, None);
    while let Some(deleted) = deletes.next().await {
        match deleted {
            Ok(Some(count)) => removed += count,
            Ok(None) => left += 1,
            Err(error) => first = first.or(Some(error)),
        }
    }
    (removed, left, first)
}

/// Returns true if there is an item that the removal can delete.
async fn has_items(container: &Container) -> Result<bool, StoreError> {
    let key = container.partition_key_in_query().await?;
    let query = format!("SELECT TOP 1 VALUE c.id FROM c WHERE IS_STRING({key})");
    let ids: Vec<String> = container.query(Query::from(query), Scope::Container, 1).await?;
    Ok(!ids.is_empty())
}
