//! Repairs of the feed. The membership changes only with the head, under its ETag.

use super::{Kinds, checks::BlogChecks};
use crate::{
    audit::{Finding, Kind, Obstacle, RepairResult, Slot, read},
    blog::{
        model::{
            FEED_PARTITION, FeedHead, FeedMark, HEAD_ID, InFeed, Member, PostCopy, PostId,
            PostsItem,
        },
        projections::HomeFeed,
        stores::PostSlot,
    },
    cosmos::{ETag, StoreError, Stored, Transaction},
    projection::Projection,
};

pub(super) async fn repair(checks: &BlogChecks, finding: &Finding, seen: &ETag) -> RepairResult {
    let id = finding.id.as_str();
    match finding.kind {
        Kinds::REFILL_PENDING => {
            HomeFeed(checks.blog.clone()).refill().await?;
            Ok("filled the feed up")
        }
        Kinds::MEMBER_MISSING => checks.admit(id).await,
        Kinds::MEMBER_DIFFERENT => checks.readmit(id).await,
        Kinds::MEMBER_EXTRA => checks.take_out(id).await,
        Kind::COPY_EXTRA => {
            // Of no member: readers should not see it.
            checks.blog.feed.delete(FEED_PARTITION, id, seen).await?;
            Ok("deleted the copy")
        }
        Kind::UNREADABLE if id == HEAD_ID => Err(Obstacle::ForAPerson(
            "nobody can say who the members were: delete the head and all copies, and restart the lease of HomeFeed",
        )),
        _ => checks.write_member(id).await,
    }
}

impl BlogChecks {
    /// Delivers the post to the projection once more.
    async fn admit(&self, id: &str) -> RepairResult {
        let PostSlot::Live(post) = self.blog.post_slot(&post_id(id)?).await? else {
            return Err(Obstacle::Race);
        };
        HomeFeed(self.blog.clone()).apply(&PostsItem::Post(post.item)).await?;
        Ok("took the post in")
    }

    /// Takes a member out and in again under its right date. If the feed was full, others may
    /// belong into it now.
    async fn readmit(&self, id: &str) -> RepairResult {
        let (head, head_etag) = self.head().await?;
        let etag = self.in_feed(id).await?;
        let PostSlot::Live(post) = self.blog.post_slot(&post_id(id)?).await? else {
            return Err(Obstacle::Race);
        };
        let head = head.remove(id).admit(Member::of(&post.item)).head;
        let transaction = Transaction::new(FEED_PARTITION)
            .replace(HEAD_ID, &InFeed::new(head), &head_etag)?
            .put(id, &InFeed::new(PostCopy::for_feed(&post.item)), etag.as_ref())?;
        self.blog.feed.transact(transaction).await?;
        HomeFeed(self.blog.clone()).refill().await?;
        Ok("wrote the member")
    }

    /// Takes a member out that is no post, and fills the feed up.
    async fn take_out(&self, id: &str) -> RepairResult {
        let (head, head_etag) = self.head().await?;
        let copy = self.in_feed(id).await?;
        let transaction = Transaction::new(FEED_PARTITION).replace(
            HEAD_ID,
            &InFeed::new(head.remove(id)),
            &head_etag,
        )?;
        let transaction = match (self.blog.post_slot(&post_id(id)?).await?, copy) {
            (PostSlot::Live(_), _) => return Err(Obstacle::Race),
            (PostSlot::Deleted(mark), copy) => {
                let mark = InFeed::new(FeedMark::from(&mark.item));
                transaction.put(id, &mark, copy.as_ref())?
            }
            (PostSlot::Empty, Some(etag)) => transaction.delete(id, Some(&etag)),
            (PostSlot::Empty, None) => transaction,
        };
        self.blog.feed.transact(transaction).await?;
        HomeFeed(self.blog.clone()).refill().await?;
        Ok("took the member out")
    }

    /// Writes the copy of a member, as long as it is one.
    async fn write_member(&self, id: &str) -> RepairResult {
        let (head, head_etag) = self.head().await?;
        let etag = self.in_feed(id).await?;
        let PostSlot::Live(post) = self.blog.post_slot(&post_id(id)?).await? else {
            return Err(Obstacle::Race);
        };
        if !head.contains(id) {
            return Err(Obstacle::Race);
        }
        let copy = InFeed::new(PostCopy::for_feed(&post.item));
        let transaction = Transaction::new(FEED_PARTITION)
            .replace(HEAD_ID, &InFeed::new(head), &head_etag)?
            .put(id, &copy, etag.as_ref())?;
        self.blog.feed.transact(transaction).await?;
        Ok("wrote the copy")
    }

    async fn head(&self) -> Result<(FeedHead, ETag), Obstacle> {
        match read::<InFeed<FeedHead>>(&self.blog.feed, FEED_PARTITION, HEAD_ID).await? {
            Slot::Item(Stored { item, etag }) => Ok((item.item, etag)),
            _ => Err(Obstacle::Race),
        }
    }

    /// The ETag of the copy or mark of a post in the feed.
    async fn in_feed(&self, id: &str) -> Result<Option<ETag>, StoreError> {
        Ok(match read::<serde_json::Value>(&self.blog.feed, FEED_PARTITION, id).await? {
            Slot::Item(Stored { etag, .. }) | Slot::Unreadable(etag) => Some(etag),
            Slot::Empty => None,
        })
    }
}

fn post_id(id: &str) -> Result<PostId, Obstacle> {
    PostId::parse(id.to_owned())
        .map_err(|_| Obstacle::ForAPerson("its id is no id of a post: delete it"))
}
