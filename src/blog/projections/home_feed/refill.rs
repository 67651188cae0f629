//! The refill of the feed after a delete has opened a gap in it.
//!
//! # Why a refill admits no version older than one that was acknowledged
//!
//! A refill reads the head `h`, then queries the newest posts in their latest committed state, and
//! writes under the ETag of `h`. Take a post that it admits in version `v`, and a newer version
//! `w` of that post.
//!
//! 1. *`w` was committed before the query.* Then the query returns `w` or a newer version.
//! 2. *`w` was committed after the query.* Then the delivery of `w` reads the head after `h` was
//!    read. If it finds a later head, the store refuses the refill, which begins again. If it finds
//!    `h`, it finds the note, and acknowledges `w` only after a refill of its own under the ETag of
//!    `h`. The store refuses the later one of the two. If that is this refill, it begins again. If it
//!    is the delivery of `w`, that begins again, finds the post among the members, and writes `w`.
//! 3. *`w` is a tombstone.* It is written to the feed without the head. This refill reads what stands
//!    in the place of the post after the query. It finds the tombstone and leaves the post out, or
//!    creates the copy where a tombstone is by then, and the store refuses that.
//!
//! The transactions of one refill follow each other without a gap: each is written under the ETag
//! that the one before has returned, and only the last one crosses the note out. So the argument
//! holds for each of them.

use std::collections::HashMap;

use super::{Head, HomeFeed, plan::plan};
use crate::{
    blog::{
        model::{FEED_CAPACITY, Member, Post},
        newest_posts::newest_posts,
        projections::PostState,
    },
    cosmos::{Reason, StoreError},
    projection::Projection,
};

/// How often the newest posts are queried before the delivery begins again.
const ROUNDS: usize = 3;

impl HomeFeed {
    /// Fills the feed up if the head has a note to.
    pub(in crate::blog) async fn refill(&self) -> Result<(), StoreError> {
        let head = self.head().await?;
        self.refill_if_noted(head).await
    }

    /// Fills the feed up with the newest posts if the head has a note to, and crosses the note out.
    /// A lost race when posts are deleted all the time meanwhile.
    pub(super) async fn refill_if_noted(&self, mut head: Head) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            if !head.item.refill {
                return Ok(());
            }
            let newest: Vec<Post> =
                newest_posts(&self.0.posts.latest_committed(), Some, Member::of).await?;
            let are_all = newest.len() < FEED_CAPACITY;
            // The copies of the members are the business of their own changes.
            let missing = newest.into_iter().filter(|post| !head.item.holds(&Member::of(post)));
            let missing: Vec<_> = missing.map(|post| PostState::Live(Box::new(post))).collect();
            let (mut rest, mut at_once) = (missing.as_slice(), Self::GROUP);
            loop {
                let (posts, later) = rest.split_at(rest.len().min(at_once));
                match self.admit(&head, posts, later.is_empty().then_some(are_all)).await {
                    Ok(after) => (head, rest) = (after, later),
                    Err(error) if error.reason == Reason::TooLarge && posts.len() > 1 => {
                        at_once = posts.len().div_ceil(2);
                        continue;
                    }
                    Err(error) => return Err(error),
                }
                if rest.is_empty() {
                    break;
                }
            }
        }
        if head.item.refill { Err(StoreError::race(false)) } else { Ok(()) }
    }

    /// Admits posts under the head as it was read. The last ones cross the note out when the feed is
    /// full then, or when there are no other posts. Otherwise one of them was deleted meanwhile, and
    /// another takes its place.
    async fn admit(
        &self,
        head: &Head,
        posts: &[PostState],
        last: Option<bool>,
    ) -> Result<Head, StoreError> {
        let copies = if posts.is_empty() { HashMap::new() } else { self.copies(posts).await? };
        let mut plan = plan(&head.item.filled(), posts, &copies);
        plan.after.refill = !last.is_some_and(|are_all| are_all || plan.after.is_full());
        self.carry_out(head, &plan).await
    }
}
