//! The refill of a window after a delete has opened a gap in it.
//!
//! # Why a refill admits no version older than one that was acknowledged
//!
//! A refill reads the head `h`, then queries the newest sources in their latest committed state, and writes under
//! the ETag of `h`. Take a source that it admits in version `v`, and a newer version `w` of that source.
//!
//! 1. *`w` was committed before the query.* Then the query returns `w` or a newer version.
//! 2. *`w` was committed after the query.* Then the delivery of `w` reads the head after `h` was read. If it
//!    finds a later head, the store refuses the refill, which begins again. If it finds `h`, a refill is due, and
//!    it acknowledges `w` only after a refill of its own under the ETag of `h`. The store refuses the later one
//!    of the two. If that is the delivery of `w`, it begins again, finds the source among the members, and writes
//!    `w`.
//! 3. *`w` is a tombstone.* It is written to the window without the head. This refill reads the slot of the
//!    source after the query, finds the tombstone and leaves the source out. Or it creates a copy under an id
//!    that has the tombstone by then, and the store refuses that.
//!
//! Each transaction of one refill is written under the ETag that the one before has returned, and only the last
//! one clears the flag of the due refill. So the argument holds for each of them.
//!
//! # Why a bad source keeps no other out
//!
//! An unreadable source is left out of the newest, and the next older one is admitted instead. A source is
//! *barred* for this refill, with the same effect, if the store refuses its copy, or if its slot has an
//! unreadable item. Its own change becomes a dead letter, whose replay admits it.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use futures::TryStreamExt;
use serde::de::DeserializeOwned;

use super::{
    Member, ReadHead, Window, WindowProjection,
    plan::{SourceState, plan},
};
use crate::{
    cosmos::{Container, Query, Scope, StoreError},
    projection::{NotedErrors, Projection},
};

const MAX_REFILL_ROUNDS: usize = 3;

impl<W: Window> WindowProjection<W> {
    pub(crate) async fn refill(&self) -> Result<(), StoreError> {
        let head = self.head().await?;
        self.refill_if_noted(head).await
    }

    pub(super) async fn refill_if_noted(&self, mut head: ReadHead) -> Result<(), StoreError> {
        let mut barred = HashSet::new();
        let mut errors = NotedErrors::default();
        let mut rounds = 0;
        while head.item.refill && rounds < MAX_REFILL_ROUNDS && barred.len() < W::CAPACITY as usize
        {
            let sources = self.sources.latest_committed();
            let member = |(member, _): &(Member, _)| member.clone();
            let wanted = W::CAPACITY + u32::try_from(barred.len()).unwrap_or(u32::MAX);
            let mut newest =
                newest::<W, _, _>(&sources, wanted, SourceState::from_live_change::<W>, member)
                    .await?;
            let are_all = newest.len() < wanted as usize;
            newest.retain(|(member, _)| !barred.contains(&member.id));
            newest.truncate(W::CAPACITY as usize);
            // The changes of the members themselves write their copies.
            let missing = newest.into_iter().filter(|(member, _)| !head.item.holds(member));
            let missing: Vec<_> = missing.map(|(_, state)| state).collect();
            let mut rest = missing.as_slice();
            let mut at_once = Self::GROUP;
            let known = barred.len();
            loop {
                let (states, later) = rest.split_at(rest.len().min(at_once));
                // After a barred source, another round queries the next older one.
                let last = later.is_empty() && barred.len() == known;
                match (self.admit(&head, states, last.then_some(are_all)).await, states) {
                    (Ok(after), _) => (head, rest) = (after, later),
                    (Err(error), [bad]) if error.is_permanent() => {
                        barred.insert(bad.id.clone());
                        errors.note::<()>(Err(error));
                        (rest, at_once) = (later, Self::GROUP);
                    }
                    (Err(error), [_, _, ..]) if error.is_permanent() => {
                        at_once = states.len().div_ceil(2);
                        continue;
                    }
                    (Err(error), _) => return Err(error),
                }
                if rest.is_empty() {
                    break;
                }
            }
            rounds += usize::from(barred.len() == known);
        }
        if !head.item.refill {
            return Ok(());
        }
        errors.into_result().and(Err(StoreError::race(false)))
    }

    /// The last ones clear the flag of the due refill if the window is full then, or if there are no other sources.
    async fn admit(
        &self,
        head: &ReadHead,
        states: &[SourceState<W::Change>],
        last: Option<bool>,
    ) -> Result<ReadHead, StoreError> {
        let capacity = W::CAPACITY as usize;
        let copies = if states.is_empty() { HashMap::new() } else { self.copies(states).await? };
        let mut plan = plan(&head.item.filled(), capacity, states, &copies);
        plan.after.refill = !last.is_some_and(|are_all| are_all || plan.after.is_full(capacity));
        self.carry_out(head, &plan).await
    }
}

const MAX_ROWS_PER_SOURCE: u32 = 4;

/// The sources have no index of date and id over all partitions, and those of one millisecond are rare: a second
/// query asks for those of the oldest millisecond. Rows that are left out are replaced by as many more.
pub(crate) async fn newest<W: Window, D: DeserializeOwned + 'static, T>(
    sources: &Container,
    wanted: u32,
    read: impl Fn(D) -> Option<T>,
    member: impl Fn(&T) -> Member,
) -> Result<Vec<T>, StoreError> {
    let found = async |query, rows| found::<D, T>(sources, query, rows, &read).await;
    let mut rows = wanted;
    let mut newest = loop {
        let (sources, left_out) = found(W::newest(rows)?, rows).await?;
        let are_all = sources.len() + left_out < rows as usize;
        let needed = wanted.saturating_add(u32::try_from(left_out).unwrap_or(u32::MAX));
        if are_all || needed <= rows || needed > MAX_ROWS_PER_SOURCE * wanted {
            break sources;
        }
        rows = needed;
    };
    if let Some(oldest) = newest.iter().map(|source| member(source).creation_date).min() {
        newest.extend(found(W::created_at(oldest, rows)?, rows).await?.0);
    }
    newest.sort_by_cached_key(|source| Reverse(member(source)));
    newest.dedup_by_key(|source| member(source));
    newest.truncate(wanted as usize);
    Ok(newest)
}

async fn found<D: DeserializeOwned + 'static, T>(
    sources: &Container,
    query: Query,
    page: u32,
    read: impl Fn(D) -> Option<T>,
) -> Result<(Vec<T>, usize), StoreError> {
    let mut pages = std::pin::pin!(sources.row_pages(query, Scope::Container, page).await?);
    let mut found = (Vec::new(), 0);
    while let Some(page) = pages.try_next().await? {
        for row in page {
            match row.ok().and_then(&read) {
                Some(source) => found.0.push(source),
                None => found.1 += 1,
            }
        }
    }
    Ok(found)
}
