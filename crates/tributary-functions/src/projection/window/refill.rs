//! The refill of a window after a delete has opened a gap in it.
//!
//! # Why a refill admits no version older than one that was acknowledged
//!
//! A refill reads the head `h`, then queries the newest sources in their latest committed state, and
//! writes under the ETag of `h`. Take a source that it admits in version `v`, and a newer version
//! `w` of that source.
//!
//! 1. *`w` was committed before the query.* Then the query returns `w` or a newer version.
//! 2. *`w` was committed after the query.* Then the delivery of `w` reads the head after `h` was
//!    read. If it finds a later head, the store refuses the refill, which begins again. If it finds
//!    `h`, it finds the note, and acknowledges `w` only after a refill of its own under the ETag of
//!    `h`. The store refuses the later one of the two. If that is this refill, it begins again. If it
//!    is the delivery of `w`, that begins again, finds the source among the members, and writes `w`.
//! 3. *`w` is a tombstone.* It is written to the window without the head. This refill reads what
//!    stands in the place of the source after the query. It finds the tombstone and leaves the source
//!    out, or creates the copy where a tombstone is by then, and the store refuses that.
//!
//! The transactions of one refill follow each other without a gap: each is written under the ETag
//! that the one before has returned, and only the last one removes the note. So the argument holds
//! for each of them.
//!
//! # Why a bad source keeps no other out
//!
//! A source that cannot be read is left out of the newest, and the next older one takes its place. So
//! does a source whose copy the store refuses, or in whose place something unreadable stands: it is
//! *barred* for this refill. Its own change becomes a dead letter. When that is replayed, the source is
//! newer than the oldest member, and comes in.

use std::collections::{HashMap, HashSet};

use super::{
    Member, ReadHead, Window, WindowProjection, newest::newest, plan::plan, state::SourceState,
};
use crate::{
    cosmos::StoreError,
    projection::{NotedErrors, Projection},
};

/// The most queries of the newest sources before the delivery begins again.
const MAX_REFILL_ROUNDS: usize = 3;

impl<W: Window> WindowProjection<W> {
    /// Refills the window if the head has a note to.
    pub async fn refill(&self) -> Result<(), StoreError> {
        let head = self.head().await?;
        self.refill_if_noted(head).await
    }

    /// Refills the window with the newest sources if the head has a note to, and removes the note.
    /// Fails with a lost race when sources are deleted all the time meanwhile.
    pub(super) async fn refill_if_noted(&self, mut head: ReadHead) -> Result<(), StoreError> {
        let (mut barred, mut errors) = (HashSet::new(), NotedErrors::default());
        let mut rounds = 0;
        while head.item.refill && rounds < MAX_REFILL_ROUNDS && barred.len() < W::CAPACITY as usize
        {
            let sources = self.0.sources().latest_committed();
            let member = |(member, _): &(Member, _)| member.clone();
            let wanted = W::CAPACITY + u32::try_from(barred.len()).unwrap_or(u32::MAX);
            let mut newest =
                newest::<W, _, _>(&sources, wanted, SourceState::from_live_change::<W>, member)
                    .await?;
            let are_all = newest.len() < wanted as usize;
            newest.retain(|(member, _)| !barred.contains(&member.id));
            newest.truncate(W::CAPACITY as usize);
            // The copies of the members are the business of their own changes.
            let missing = newest.into_iter().filter(|(member, _)| !head.item.holds(member));
            let missing: Vec<_> = missing.map(|(_, state)| state).collect();
            let (mut rest, mut at_once, known) = (missing.as_slice(), Self::GROUP, barred.len());
            loop {
                let (states, later) = rest.split_at(rest.len().min(at_once));
                // With a barred source, another round asks for the one that takes its place.
                let last = later.is_empty() && barred.len() == known;
                match (self.admit(&head, states, last.then_some(are_all)).await, states) {
                    (Ok(after), _) => (head, rest) = (after, later),
                    // guard: a bad source keeps no other out of a refill => `if false`
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

    /// Admits sources under the head as it was read. The last ones remove the note when the window is
    /// full then, or when there are no other sources. Otherwise one of them was deleted meanwhile,
    /// and another takes its place.
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
        // guard: a refill writes under the head that it has read before the query =>
        //     `{ let now = ReadHead { etag: self.head().await?.etag, ..head.clone() };
        //     self.carry_out(&now, &plan).await }`
        self.carry_out(head, &plan).await
    }
}
