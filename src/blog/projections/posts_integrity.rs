//! What must hold inside `posts`, and commands alone cannot see to.

use super::usernames_in_posts::rename_item;
use crate::{
    blog::{
        Blog,
        model::{Comment, Like, Post, PostId, PostsItem, UserId},
        stores::UserSlot,
    },
    cosmos::{Container, Query, Reason, Refusal, Scope, StoreError, Transaction},
    projection::{Effect, Projection},
};

/// Keeps `posts` true to itself.
///
/// - *Names.* A command reads its user's name, then a rename goes through all items of that user,
///   then the command creates its item under the old name. So whoever sees a new item compares its
///   name with the user's. If the item came first, the rename has found it; if the rename came
///   first, this finds the new name. Either order ends right.
/// - *Deleted posts.* Their comments and likes are removed here, however many there are.
pub struct PostsIntegrity(pub Blog);

impl Projection for PostsIntegrity {
    const FUNCTION: &'static str = "PostsIntegrity";
    const PARTITION_KEY: &'static str = "postId";
    type Change = PostsItem;

    fn container(&self) -> &Container {
        &self.0.posts
    }

    fn source(change: &PostsItem) -> Option<(String, u64)> {
        let (post_id, id, version) = match change {
            PostsItem::Post(post) => (&post.public.post_id, post.public.id.as_str(), post.version),
            PostsItem::DeletedPost(mark) => (&mark.post_id, mark.id.as_str(), mark.version),
            PostsItem::Comment(Comment { public, username_version, .. }) => {
                (&public.post_id, public.id.as_str(), *username_version)
            }
            PostsItem::Like(Like { public, username_version, .. }) => {
                (&public.post_id, public.id.as_str(), *username_version)
            }
        };
        // A user's likes have one id, each in the partition of its post.
        Some((format!("{post_id} {id}"), version))
    }

    async fn apply(&self, change: &PostsItem) -> Result<Effect, StoreError> {
        match change {
            PostsItem::DeletedPost(mark) => {
                remove_reactions(&self.0, &mark.post_id, mark.version).await
            }
            PostsItem::Post(Post { public, username_version, .. }) => {
                self.repair(&public.post_id, &public.id, &public.user_id, *username_version).await
            }
            PostsItem::Comment(Comment { public, username_version, .. }) => {
                let id = public.id.as_str();
                self.repair(&public.post_id, id, &public.user_id, *username_version).await
            }
            PostsItem::Like(Like { public, username_version, .. }) => {
                self.repair(&public.post_id, &public.id, &public.user_id, *username_version).await
            }
        }
    }
}

impl PostsIntegrity {
    /// Puts the user's name on an item that was created under an older one.
    async fn repair(
        &self,
        post_id: &PostId,
        id: &str,
        user_id: &UserId,
        username_version: u64,
    ) -> Result<Effect, StoreError> {
        let UserSlot::User(user) = self.0.user_slot(user_id).await? else {
            return Ok(Effect::Unchanged);
        };
        if user.item.version <= username_version {
            return Ok(Effect::Unchanged);
        }
        match self.0.posts.read(post_id.as_str(), id).await? {
            Some(stored) => rename_item(&self.0, stored, &user.item.author()).await,
            None => Ok(Effect::Unchanged),
        }
    }
}

/// How many items a transaction deletes (service limit: 100 operations).
const BATCH: u32 = 100;

/// Removes the comments and likes that a post had before it was deleted in `version`. Those of a
/// later post with the same id are newer, and stay.
pub(in crate::blog) async fn remove_reactions(
    blog: &Blog,
    post_id: &PostId,
    version: u64,
) -> Result<Effect, StoreError> {
    let partition = post_id.as_str();
    let mut effect = Effect::Unchanged;
    loop {
        // The order is that of an index, by which the items of the post are found.
        let query = Query::from(
            "SELECT TOP @batch VALUE c.id FROM c \
             WHERE c.postId = @postId AND c.type IN ('comment', 'like') AND c.postVersion < @version \
             ORDER BY c.postId DESC, c.type DESC, c.creationDate DESC, c.id DESC",
        )
        .with_parameter("@postId", post_id)?
        .with_parameter("@batch", BATCH)?
        .with_parameter("@version", version)?;
        let ids: Vec<String> = blog.posts.query(query, Scope::Partition(partition), BATCH).await?;
        if ids.is_empty() {
            return Ok(effect);
        }
        let delete = |transaction: Transaction, id: &String| transaction.delete(id, None);
        let deletes = ids.iter().fold(Transaction::new(partition), delete);
        match blog.posts.transact(deletes).await {
            // The query had room for more: these were all.
            Ok(_) if ids.len() < BATCH as usize => return Ok(Effect::Applied),
            Ok(_) => effect = Effect::Applied,
            // Another instance was faster with some of them: see what is left.
            Err(Refusal { error, .. }) if error.reason == Reason::NotFound => {}
            Err(Refusal { error, .. }) => return Err(error),
        }
    }
}
