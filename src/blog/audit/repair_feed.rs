//! Repairs of the feed. The membership changes only with the head, under its ETag.

use super::{Kinds, checks::BlogChecks};
use crate::{
    audit::{Finding, Kind, Obstacle, RepairResult, Slot, read},
    blog::{
        model::{PostCopy, PostId, PostsItem},
        projections::NewestPosts,
        stores::PostSlot,
    },
    cosmos::{ETag, StoreError, Stored, Transaction},
    projection::{
        Projection,
        window::{InWindow, Member, Tombstone, Window, WindowHead, WindowProjection},
    },
};

const PARTITION: &str = NewestPosts::PARTITION;
const CAPACITY: usize = NewestPosts::CAPACITY as usize;

pub(super) async fn repair(checks: &BlogChecks, finding: &Finding, seen: &ETag) -> RepairResult {
    let id = finding.id.as_str();
    match finding.kind {
        Kinds::REFILL_PENDING => {
            checks.feed().refill().await?;
            Ok("filled the feed up")
        }
        Kinds::MEMBER_MISSING => checks.admit(id).await,
        Kinds::MEMBER_DIFFERENT => checks.readmit(id).await,
        Kinds::MEMBER_EXTRA => checks.take_out(id).await,
        Kind::COPY_EXTRA => {
            // Of no member: readers should not see it.
            checks.blog.feed.delete(PARTITION, id, seen).await?;
            Ok("deleted the copy")
        }
        Kind::UNREADABLE if id == WindowHead::ID => Err(Obstacle::ForAPerson(
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
        self.feed().apply(&PostsItem::Post(post.item)).await?;
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
        let creation_date = post.item.public.creation_date;
        let member = Member { creation_date, id: id.to_owned() };
        let head = head.remove(id, CAPACITY).admit(member, CAPACITY);
        let transaction = Transaction::new(PARTITION)
            .replace(WindowHead::ID, &InWindow::new(PARTITION, head), &head_etag)?
            .put(id, &InWindow::new(PARTITION, PostCopy::for_feed(&post.item)), etag.as_ref())?;
        self.blog.feed.transact(transaction).await?;
        self.feed().refill().await?;
        Ok("wrote the member")
    }

    /// Takes a member out that is no post, and fills the feed up.
    async fn take_out(&self, id: &str) -> RepairResult {
        let (head, head_etag) = self.head().await?;
        let copy = self.in_feed(id).await?;
        let transaction = Transaction::new(PARTITION).replace(
            WindowHead::ID,
            &InWindow::new(PARTITION, head.remove(id, CAPACITY)),
            &head_etag,
        )?;
        let transaction = match (self.blog.post_slot(&post_id(id)?).await?, copy) {
            (PostSlot::Live(_), _) => return Err(Obstacle::Race),
            (PostSlot::Deleted(mark), copy) => {
                let mark = InWindow::new(PARTITION, Tombstone::new(id, mark.item.version));
                transaction.put(id, &mark, copy.as_ref())?
            }
            (PostSlot::Empty, Some(etag)) => transaction.delete(id, Some(&etag)),
            (PostSlot::Empty, None) => transaction,
        };
        self.blog.feed.transact(transaction).await?;
        self.feed().refill().await?;
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
        let copy = InWindow::new(PARTITION, PostCopy::for_feed(&post.item));
        let transaction = Transaction::new(PARTITION)
            .replace(WindowHead::ID, &InWindow::new(PARTITION, head), &head_etag)?
            .put(id, &copy, etag.as_ref())?;
        self.blog.feed.transact(transaction).await?;
        Ok("wrote the copy")
    }

    fn feed(&self) -> WindowProjection<NewestPosts> {
        WindowProjection(NewestPosts(self.blog.clone()))
    }

    async fn head(&self) -> Result<(WindowHead, ETag), Obstacle> {
        match read::<WindowHead>(&self.blog.feed, PARTITION, WindowHead::ID).await? {
            Slot::Item(Stored { item, etag }) => Ok((item, etag)),
            _ => Err(Obstacle::Race),
        }
    }

    /// The ETag of the copy or mark of a post in the feed.
    async fn in_feed(&self, id: &str) -> Result<Option<ETag>, StoreError> {
        Ok(match read::<serde_json::Value>(&self.blog.feed, PARTITION, id).await? {
            Slot::Item(Stored { etag, .. }) | Slot::Unreadable(etag) => Some(etag),
            Slot::Empty => None,
        })
    }
}

fn post_id(id: &str) -> Result<PostId, Obstacle> {
    PostId::parse(id.to_owned())
        .map_err(|_| Obstacle::ForAPerson("its id is no id of a post: delete it"))
}
