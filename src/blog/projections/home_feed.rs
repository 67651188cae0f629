//! The newest posts in short form, all in one logical partition, for Q6.
//!
//! # Why the feed ends right
//!
//! The rules of [`crate::projection`] keep a copy true as long as it is there. Copies of this
//! container come and go with the membership, so four more rules hold.
//!
//! 1. *The membership changes only with the head*, under the head's ETag, in one transaction with
//!    the copies. All changes of the membership form one sequence.
//! 2. *While the head has the note to refill, only the refill admits posts* ([`refill`]). Without
//!    the note, no post outside the feed may come in but one that is newer than a member: a gap in
//!    the full feed and the note are written together.
//! 3. *The head is read in its latest committed state.* A change of a post that the head does not
//!    hold and does not admit is acknowledged without any write, so no ETag would catch a stale
//!    head: an older head may lack a member that a refill has admitted in an older version.
//! 4. *A tombstone is written for every deleted post*, member or not.
//!
//! Take the newest version `n` of a post that is live. Its delivery finds one of three heads:
//!
//! - *The head holds the post*: the copy is written, or is there already. A copy that is missing,
//!   since an operator has deleted it, is created together with the head, so a post that leaves
//!   the feed meanwhile does not come back.
//! - *The head admits the post*: the transaction writes version `n`.
//! - *Neither*: the post is older than 100 members. It comes in only after a gap, which a refill
//!   fills, and [`refill`] takes no version older than `n` from then on. A late delivery of an older
//!   version meets rule 2 until then.
//!
//! The copies of a batch are read with Session consistency. A stale copy has an older ETag or is
//! missing, so the store refuses the transaction, and the batch reads again.

mod plan;
mod refill;

use std::collections::HashMap;

use futures::future::try_join_all;
use serde::Deserialize;

use self::plan::{Plan, concerns, plan};
use super::{PostState, post_source, post_state};
use crate::{
    blog::{
        Blog,
        model::{FEED_PARTITION, FeedHead, FeedMark, HEAD_ID, InFeed, PostCopy, PostsItem},
    },
    cosmos::{Container, ETag, Reason, StoreError, Transaction},
    projection::{Copied, Effect, Projection},
};

/// Keeps `feed` true to the posts: exactly the 100 newest that exist.
///
/// The changes of a batch are decided upon together and written in one transaction: a batch of new
/// posts costs the head once. A copy of a member is replaced only by a newer version. A deleted
/// post leaves a tombstone, so that a late older version meets it and does not come back.
///
/// When a member of the full feed is deleted, the transaction that takes it out leaves a note in
/// the head, and whoever sees the note next fills the feed up from the posts: a crash between the
/// two loses nothing.
pub struct HomeFeed(pub Blog);

/// Up to so many copies are looked at by point reads, which then cost less than a query.
const FEW: usize = 4;

impl Projection for HomeFeed {
    const FUNCTION: &'static str = "HomeFeed";
    const PARTITION_KEY: &'static str = "postId";
    /// Changes of the membership would only lose races against each other.
    const CONCURRENCY: usize = 1;
    /// Each post is written, and another may leave for it; with the head that is 99 operations of
    /// the 100 that a transaction may have.
    const GROUP: usize = 49;
    type Change = PostsItem;

    fn container(&self) -> &Container {
        &self.0.posts
    }

    fn source(change: &PostsItem) -> Option<(String, u64)> {
        post_source(change)
    }

    async fn apply(&self, change: &PostsItem) -> Result<Effect, StoreError> {
        let effects = self.apply_all(&[change]).await?;
        Ok(effects.first().copied().unwrap_or(Effect::Unchanged))
    }

    async fn apply_all(&self, changes: &[&PostsItem]) -> Result<Vec<Effect>, StoreError> {
        let (mut posts, mut places) = (Vec::new(), Vec::new());
        for (place, change) in changes.iter().enumerate() {
            if let Some(state) = post_state(&self.0, change).await? {
                posts.push(state);
                places.push(place);
            }
        }
        let mut effects = vec![Effect::Unchanged; changes.len()];
        if posts.is_empty() {
            return Ok(effects);
        }
        let (head, settled) = self.settle(&posts).await?;
        for (place, effect) in places.into_iter().zip(settled) {
            effects[place] = effect;
        }
        self.refill_if_noted(head).await?;
        Ok(effects)
    }
}

impl HomeFeed {
    /// Makes the feed true to at most [`Self::GROUP`] posts: reads the head and, when it is about
    /// any of them, their copies, and writes what differs in one transaction. Returns the head as it
    /// is now, and the effect of each post.
    async fn settle(&self, posts: &[PostState]) -> Result<(Head, Vec<Effect>), StoreError> {
        let head = self.head().await?;
        if !posts.iter().any(|post| concerns(&head.item, post)) {
            return Ok((head, vec![Effect::Unchanged; posts.len()]));
        }
        let copies = self.copies(posts).await?;
        let plan = plan(&head.item, posts, &copies);
        let head = self.carry_out(&head, &plan).await?;
        Ok((head, plan.effects))
    }

    /// Writes what is planned in one transaction, and returns the head as it is then.
    ///
    /// A copy that has to go may be missing already: an operator deleted it. The store names that
    /// operation, and the transaction is sent again without it. So this looks for no copies that
    /// are there as a rule. The head is in the transaction, so nobody creates the copy in between.
    async fn carry_out(&self, head: &Head, plan: &Plan<'_>) -> Result<Head, StoreError> {
        let with_head = plan.after != head.item || plan.needs_head;
        if !with_head && plan.writes.is_empty() {
            return Ok(head.clone());
        }
        let mut leave: Vec<&str> = plan.leave.iter().map(String::as_str).collect();
        loop {
            let mut transaction = Transaction::new(FEED_PARTITION);
            if with_head {
                let item = InFeed::new(plan.after.clone());
                transaction = transaction.put(HEAD_ID, &item, head.etag.as_ref())?;
            }
            for (post, etag) in &plan.writes {
                transaction = write(transaction, post, etag.as_ref())?;
            }
            for id in &leave {
                transaction = transaction.delete(id, None);
            }
            let refusal = match self.0.feed.transact(transaction).await {
                Ok(etags) if with_head => {
                    return Ok(Head {
                        item: plan.after.clone(),
                        etag: etags.into_iter().next().flatten(),
                    });
                }
                Ok(_) => return Ok(head.clone()),
                Err(refusal) => refusal,
            };
            if refusal.error.reason != Reason::NotFound {
                return Err(refusal.error);
            }
            let first_leave = usize::from(with_head) + plan.writes.len();
            match refusal.operation.and_then(|operation| operation.checked_sub(first_leave)) {
                Some(missing) if missing < leave.len() => drop(leave.remove(missing)),
                // A copy or the head that was read is gone by now.
                _ => return Err(StoreError::race(refusal.error.answer_lost)),
            }
        }
    }

    /// Reads the head in its latest committed state.
    async fn head(&self) -> Result<Head, StoreError> {
        let feed = self.0.feed.latest_committed();
        let stored = feed.read::<InFeed<FeedHead>>(FEED_PARTITION, HEAD_ID).await?;
        Ok(match stored {
            Some(stored) => Head { item: stored.item.item, etag: Some(stored.etag) },
            None => Head { item: FeedHead::default(), etag: None },
        })
    }

    /// What stands in the feed for posts, by their ids: copies and tombstones.
    async fn copies(&self, posts: &[PostState]) -> Result<HashMap<String, Copied>, StoreError> {
        #[derive(Deserialize)]
        struct Found {
            id: String,
            version: u64,
            #[serde(rename = "_etag")]
            etag: String,
        }
        let ids = posts.iter().map(|post| post.id().as_str());
        if posts.len() <= FEW {
            let reads = ids.clone().map(|id| Copied::read(&self.0.feed, FEED_PARTITION, id));
            let copies = try_join_all(reads).await?;
            let known = ids.zip(copies).filter_map(|(id, copy)| Some((id.to_owned(), copy?)));
            return Ok(known.collect());
        }
        let found: Vec<Found> =
            self.0.feed.query_ids("c.id, c.version, c._etag", FEED_PARTITION, ids).await?;
        let copied = |Found { id, version, etag }| (id, Copied { version, etag: ETag::from(etag) });
        Ok(found.into_iter().map(copied).collect())
    }
}

/// The head, and its ETag when it is there.
#[derive(Clone)]
struct Head {
    item: FeedHead,
    etag: Option<ETag>,
}

/// Adds the copy or the tombstone of a post, which fails when what stands there has changed since
/// it was read.
fn write(
    transaction: Transaction,
    post: &PostState,
    read: Option<&ETag>,
) -> Result<Transaction, StoreError> {
    let id = post.id().as_str();
    match post {
        PostState::Live(post) => transaction.put(id, &InFeed::new(PostCopy::for_feed(post)), read),
        PostState::Deleted(mark) => transaction.put(id, &InFeed::new(FeedMark::from(mark)), read),
    }
}
