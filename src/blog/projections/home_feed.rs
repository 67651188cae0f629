//! The newest posts in short form, all in one logical partition, for Q6.

mod plan;

use std::collections::HashMap;

use futures::future::try_join_all;
use serde::Deserialize;

use self::plan::{Plan, concerns, plan};
use super::{PostState, post_source, post_state};
use crate::{
    blog::{
        Blog,
        model::{
            FEED_CAPACITY, FEED_PARTITION, FeedHead, FeedMark, HEAD_ID, InFeed, Member, Post,
            PostCopy, PostsItem,
        },
        newest_posts::newest_posts,
    },
    cosmos::{Container, ETag, Query, Reason, Scope, StoreError, Transaction},
    projection::{Copied, Effect, Projection},
};

/// Keeps `feed` true to the posts: exactly the 100 newest that exist.
///
/// The membership changes only together with the head of the feed, under its ETag, so changes of
/// the membership never overlap, whoever makes them ([`FeedHead`]). The changes of a batch are
/// decided upon together and written in one transaction: a batch of new posts costs the head once.
/// A copy of a member is replaced only by a newer version. A deleted post leaves a mark, so that a
/// late older version meets it and does not come back.
///
/// When a member of the full feed is deleted, the transaction that takes it out leaves a note in
/// the head, and whoever sees the note next fills the feed up from the posts: a crash between the
/// two loses nothing.
pub struct HomeFeed(pub Blog);

/// How often the feed is filled up before that is left to the next change.
const ROUNDS: usize = 3;

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
        let settled = self.settle(&posts).await?;
        for (place, effect) in places.into_iter().zip(settled.effects) {
            effects[place] = effect;
        }
        if settled.head.refill {
            self.refill().await?;
        }
        Ok(effects)
    }
}

impl HomeFeed {
    /// Makes the feed true to at most [`Self::GROUP`] posts: reads the head and, when it is about
    /// any of them, their copies, and writes what differs in one transaction.
    async fn settle(&self, posts: &[PostState]) -> Result<Settled, StoreError> {
        let head = self.head().await?;
        if !posts.iter().any(|post| concerns(&head.item, post)) {
            return Ok(Settled { head: head.item, effects: vec![Effect::Unchanged; posts.len()] });
        }
        let copies = self.copies(posts).await?;
        let Plan { after, effects, writes, leave } = plan(&head.item, posts, &copies);
        let mut transaction = Transaction::new(FEED_PARTITION);
        if after != head.item {
            transaction = with_head(transaction, after.clone(), &head)?;
        }
        for (post, etag) in &writes {
            let id = post.author_and_id().1.as_str();
            transaction = match post {
                PostState::Live(post) => {
                    transaction.put(id, &InFeed::new(PostCopy::for_feed(post)), etag.as_ref())?
                }
                PostState::Deleted(mark) => {
                    transaction.put(id, &InFeed::new(FeedMark::from(mark)), etag.as_ref())?
                }
            };
        }
        for id in &leave {
            transaction = transaction.delete(id, None);
        }
        // The head never changes without one of these.
        if !writes.is_empty() {
            self.0.feed.transact(transaction).await.map_err(|refusal| refusal.error)?;
        }
        Ok(Settled { head: after, effects })
    }

    /// Fills the feed up with the newest posts if there is a note to, and crosses the note out.
    pub(in crate::blog) async fn refill(&self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let head = self.head().await?.item;
            if !head.refill {
                break;
            }
            let newest = self.newest_posts().await?;
            let are_all = newest.len() < FEED_CAPACITY;
            // The copies of the members are the business of their own changes.
            let missing = newest.into_iter().filter(|post| !head.holds(&Member::of(post)));
            let missing: Vec<_> = missing.map(|post| PostState::Live(Box::new(post))).collect();
            for posts in missing.chunks(Self::GROUP) {
                self.bring_in(posts).await?;
            }
            let head = self.head().await?;
            // Some of them may have been deleted meanwhile: then others take their places, now or,
            // since the note stays, with the next change.
            if head.item.is_full() || are_all {
                let filled = head.item.filled();
                let done = with_head(Transaction::new(FEED_PARTITION), filled, &head)?;
                self.0.feed.transact(done).await.map_err(|refusal| refusal.error)?;
                break;
            }
        }
        Ok(())
    }

    /// Makes the feed true to posts, together where a transaction has room for them.
    async fn bring_in(&self, posts: &[PostState]) -> Result<(), StoreError> {
        match self.settle(posts).await {
            Err(error) if error.reason == Reason::TooLarge && posts.len() > 1 => {
                for post in posts.chunks(1) {
                    self.settle(post).await?;
                }
                Ok(())
            }
            settled => settled.map(drop),
        }
    }

    /// The newest posts that exist.
    async fn newest_posts(&self) -> Result<Vec<Post>, StoreError> {
        newest_posts(&self.0.posts, Some, Member::of).await
    }

    async fn head(&self) -> Result<Head, StoreError> {
        let stored = self.0.feed.read::<InFeed<FeedHead>>(FEED_PARTITION, HEAD_ID).await?;
        Ok(match stored {
            Some(stored) => Head { item: stored.item.item, etag: Some(stored.etag) },
            None => Head { item: FeedHead::default(), etag: None },
        })
    }

    /// What stands in the feed for posts, by their ids: copies and marks.
    async fn copies(&self, posts: &[PostState]) -> Result<HashMap<String, Copied>, StoreError> {
        #[derive(Deserialize)]
        struct Found {
            id: String,
            version: u64,
            #[serde(rename = "_etag")]
            etag: String,
        }
        let ids = posts.iter().map(|post| post.author_and_id().1.as_str());
        if posts.len() <= FEW {
            let reads = ids.clone().map(|id| Copied::read(&self.0.feed, FEED_PARTITION, id));
            let copies = try_join_all(reads).await?;
            let known = ids.zip(copies).filter_map(|(id, copy)| Some((id.to_owned(), copy?)));
            return Ok(known.collect());
        }
        let names: Vec<_> = (0..posts.len()).map(|n| format!("@id{n}")).collect();
        let names_in_list = names.join(", ");
        let text =
            format!("SELECT c.id, c.version, c._etag FROM c WHERE c.id IN ({names_in_list})");
        let query = names.iter().zip(ids).try_fold(Query::from(text), |query, (name, id)| {
            query.with_parameter(name.as_str(), id)
        })?;
        #[expect(clippy::cast_possible_truncation, reason = "49")]
        let page = Self::GROUP as u32;
        let found: Vec<Found> =
            self.0.feed.query(query, Scope::Partition(FEED_PARTITION), page).await?;
        let copied = |Found { id, version, etag }| (id, Copied { version, etag: ETag::from(etag) });
        Ok(found.into_iter().map(copied).collect())
    }
}

/// The head, and its ETag when it is there.
struct Head {
    item: FeedHead,
    etag: Option<ETag>,
}

/// What has come of changes: the head as it is now, and the effect of each.
struct Settled {
    head: FeedHead,
    effects: Vec<Effect>,
}

/// Adds the change of the head, which fails when the head has changed since it was read.
fn with_head(
    transaction: Transaction,
    changed: FeedHead,
    read: &Head,
) -> Result<Transaction, StoreError> {
    transaction.put(HEAD_ID, &InFeed::new(changed), read.etag.as_ref())
}
