//! The newest posts in short form, all in one logical partition, for Q6.

use super::{PostState, post_source, post_state};
use crate::{
    blog::{
        Blog,
        model::{
            DeletedPost, FEED_CAPACITY, FEED_PARTITION, FeedHead, FeedMark, HEAD_ID, InFeed,
            Member, Post, PostCopy, PostsItem,
        },
        newest_posts::newest_posts,
    },
    cosmos::{Container, ETag, StoreError, Transaction},
    projection::{Effect, Place, Projection},
};

/// Keeps `feed` true to the posts: exactly the 100 newest that exist.
///
/// The membership changes only together with the head of the feed, under its ETag, so changes of
/// the membership never overlap, whoever makes them ([`FeedHead`]). A copy of a member is replaced
/// only by a newer version. A deleted post leaves a mark, so that a late older version meets it and
/// does not come back.
///
/// When a member of the full feed is deleted, the transaction that takes it out leaves a note in
/// the head, and whoever sees the note next fills the feed up from the posts: a crash between the
/// two loses nothing.
pub struct HomeFeed(pub Blog);

/// How often the feed is filled up before that is left to the next change.
const ROUNDS: usize = 3;

impl Projection for HomeFeed {
    const FUNCTION: &'static str = "HomeFeed";
    const PARTITION_KEY: &'static str = "postId";
    /// Changes of the membership would only lose races against each other.
    const CONCURRENCY: usize = 1;
    type Change = PostsItem;

    fn container(&self) -> &Container {
        &self.0.posts
    }

    fn source(change: &PostsItem) -> Option<(String, u64)> {
        post_source(change)
    }

    async fn apply(&self, change: &PostsItem) -> Result<Effect, StoreError> {
        let Some(state) = post_state(&self.0, change).await? else {
            return Ok(Effect::Unchanged);
        };
        let head = self.head().await?;
        let effect = match &state {
            PostState::Live(post) if head.item.holds(&Member::of(post)) => {
                self.update(post).await?
            }
            PostState::Live(post) if head.item.admits(&Member::of(post)) => {
                self.admit(&head, post).await?
            }
            PostState::Live(_) => Effect::Unchanged,
            PostState::Deleted(mark) => self.remove(&head, mark).await?,
        };
        if head.item.refill || matches!(state, PostState::Deleted(_)) {
            self.refill().await?;
        }
        Ok(effect)
    }
}

/// The head, and its ETag when it is there.
struct Head {
    item: FeedHead,
    etag: Option<ETag>,
}

impl HomeFeed {
    /// Writes a newer version of a member.
    async fn update(&self, post: &Post) -> Result<Effect, StoreError> {
        let id = post.public.id.as_str();
        match self.place(id, post.version).await? {
            Place::Open(Some(etag)) => {
                let newer = InFeed::new(PostCopy::for_feed(post));
                self.0.feed.replace(FEED_PARTITION, id, &newer, &etag).await?;
                Ok(Effect::Applied)
            }
            // It has left the feed meanwhile.
            Place::Open(None) => Ok(Effect::Unchanged),
            Place::Taken(effect) => Ok(effect),
        }
    }

    /// Takes a post in, and those out for which there is no more room.
    async fn admit(&self, head: &Head, post: &Post) -> Result<Effect, StoreError> {
        let id = post.public.id.as_str();
        // There may be the mark of this post, or of an earlier one with its id; or the copy of a later
        // one, which is a member already. A copy of this very version is no member, so it is written
        // over, too.
        let known = match self.place(id, post.version + 1).await? {
            Place::Open(known) => known,
            Place::Taken(effect) => return Ok(effect),
        };
        let plan = head.item.admit(Member::of(post));
        let copy = InFeed::new(PostCopy::for_feed(post));
        let mut transaction = with_head(Transaction::new(FEED_PARTITION), plan.head, head)?.put(
            id,
            &copy,
            known.as_ref(),
        )?;
        for evicted in &plan.evicted {
            transaction = transaction.delete(evicted, None);
        }
        self.0.feed.transact(transaction).await.map_err(|refusal| refusal.error)?;
        Ok(Effect::Applied)
    }

    /// Leaves the mark of a deleted post, and takes the post out.
    async fn remove(&self, head: &Head, deleted: &DeletedPost) -> Result<Effect, StoreError> {
        let id = deleted.post_id.as_str();
        let copy = match self.place(id, deleted.version).await? {
            Place::Open(copy) => copy,
            Place::Taken(effect) => return Ok(effect),
        };
        let mark = InFeed::new(FeedMark::from(deleted));
        let transaction = with_head(Transaction::new(FEED_PARTITION), head.item.remove(id), head)?
            .put(id, &mark, copy.as_ref())?;
        self.0.feed.transact(transaction).await.map_err(|refusal| refusal.error)?;
        Ok(Effect::Applied)
    }

    /// Fills the feed up with the newest posts if there is a note to, and crosses the note out.
    pub(in crate::blog) async fn refill(&self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            if !self.head().await?.item.refill {
                break;
            }
            let newest = self.newest_posts().await?;
            for post in &newest {
                let head = self.head().await?;
                if head.item.holds(&Member::of(post)) {
                    self.update(post).await?;
                } else if head.item.admits(&Member::of(post)) {
                    self.admit(&head, post).await?;
                }
            }
            let head = self.head().await?;
            // Some of them may have been deleted meanwhile: then others take their places, now or,
            // since the note stays, with the next change.
            if head.item.is_full() || newest.len() < FEED_CAPACITY {
                let filled = head.item.filled();
                let done = with_head(Transaction::new(FEED_PARTITION), filled, &head)?;
                self.0.feed.transact(done).await.map_err(|refusal| refusal.error)?;
                break;
            }
        }
        Ok(())
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

    async fn place(&self, id: &str, version: u64) -> Result<Place, StoreError> {
        Place::of(&self.0.feed, FEED_PARTITION, id, version).await
    }
}

/// Adds the change of the head, which fails when the head has changed since it was read.
fn with_head(
    transaction: Transaction,
    changed: FeedHead,
    read: &Head,
) -> Result<Transaction, StoreError> {
    transaction.put(HEAD_ID, &InFeed::new(changed), read.etag.as_ref())
}
