//! Repairs of posts and users, with the guards that commands and projections use.

use tributary_functions::{
    audit::{
        Checks, FindingKind, Obstacle, ReferencedItem, RepairResult, Slot, Suspect, read_slot,
    },
    prelude::*,
    projection::removal::remove_some,
};

use super::{BlogChecks, BlogKinds};
use crate::model::{Post, PostId, PostsItem};

pub(super) async fn repair(
    checks: &BlogChecks,
    suspect: &Suspect,
    (partition, id): (&str, &str),
) -> RepairResult {
    // A deletion deletes only the state that was checked.
    let seen = ETag::from(suspect.evidence.clone());
    let blog = &checks.blog;
    match suspect.finding.kind {
        FindingKind::COUNT_DIFFERS => checks.write_counts(&post_id(partition)?).await,
        FindingKind::NAME_DIFFERS => checks.write_name(partition, id).await,
        FindingKind::ORPHAN | BlogKinds::STALE_REACTION => {
            checks.remove_reaction(partition, id, &seen).await
        }
        FindingKind::COPY_EXTRA => {
            blog.users.delete(partition, id, &seen).await?;
            Ok("deleted the copy")
        }
        kind if kind.concerns_copy() => checks.copies.write(suspect).await,
        BlogKinds::USER_MISSING => {
            Err(Obstacle::NeedsOperator("its user is gone: restore or delete it"))
        }
        _ => checks.names.repair(suspect).await,
    }
}

impl BlogChecks {
    /// Counts the comments and likes anew, and writes the counts. Every new comment or like replaces
    /// the post, so this write fails if one comes meanwhile.
    async fn write_counts(&self, id: &PostId) -> RepairResult {
        let post = self.blog.post(id).await?;
        let [comments, likes] = self.count(id, post.item.public.creation_date).await?;
        let counted = post.item.with_counts(comments, likes);
        self.blog.posts.save(counted, Some(&post.etag)).await?;
        Ok("wrote the counts")
    }

    async fn write_name(&self, partition: &str, id: &str) -> RepairResult {
        let Slot::Item(stored) = read_slot::<PostsItem>(&self.blog.posts, partition, id).await?
        else {
            return Err(Obstacle::Race);
        };
        // The author is read after the item, so the name is at least as new as that of the item.
        let user_id = stored.item.name().ok_or(Obstacle::Race)?.user_id;
        let ReferencedItem::Live(author) = self.author(user_id, true).await? else {
            return Err(Obstacle::Race);
        };
        let renamed = stored.item.renamed(&author);
        self.blog.posts.replace(partition, id, &renamed, &stored.etag).await?;
        Ok("wrote the name")
    }

    async fn remove_reaction(&self, partition: &str, id: &str, seen: &ETag) -> RepairResult {
        // With the tombstone of the post, all its comments and likes are removed at once.
        let post_id = post_id(partition)?;
        let slot = self.blog.posts.slot::<Post>(&post_id, &post_id).await?;
        if let ItemSlot::Deleted(tombstone) = slot {
            remove_some(&self.blog, &tombstone.item).await?;
            return Ok("deleted the comments and likes of the deleted post");
        }
        self.blog.posts.delete(partition, id, seen).await?;
        Ok("deleted the comment or like")
    }
}

fn post_id(partition: &str) -> Result<PostId, Obstacle> {
    let reason = "its partition key is no id of a post: delete it";
    PostId::parse(partition.to_owned()).map_err(|_| Obstacle::NeedsOperator(reason))
}
