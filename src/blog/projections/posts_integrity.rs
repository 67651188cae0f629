//! What must hold inside `posts`, and commands alone cannot see to.

use super::{removal::remove_for_a_slice, usernames_in_posts::rename_item};
use crate::{
    blog::{
        Blog,
        model::{Comment, Like, Post, PostId, PostsItem, UserId},
        stores::UserSlot,
    },
    cosmos::{Container, StoreError},
    projection::{Background, Effect, Projection},
};

/// Keeps `posts` true to itself.
///
/// - *Names.* A command reads its user's name, then a rename goes through all items of that user,
///   then the command creates its item under the old name. So whoever sees a new item compares its
///   name with the user's. If the item came first, the rename has found it; if the rename came
///   first, this finds the new name. Either order ends right. Both read the latest committed state:
///   of two that have not seen each other, one would be the first to write and the last to read.
/// - *Deleted posts.* Their comments and likes are removed here, however many there are: in slices
///   of time, within the budget that renames have, and with low priority in the store.
pub struct PostsIntegrity {
    blog: Blog,
    background: Background,
}

impl PostsIntegrity {
    /// The projection of a blog.
    pub fn new(blog: &Blog, background: &Background) -> Self {
        Self { blog: blog.clone(), background: background.clone() }
    }
}

impl Projection for PostsIntegrity {
    const FUNCTION: &'static str = "PostsIntegrity";
    const PARTITION_KEY: &'static str = "postId";
    type Change = PostsItem;

    fn container(&self) -> &Container {
        &self.blog.posts
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
                remove_for_a_slice(&self.blog.in_background(), &self.background, mark).await
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
        // A change of the user may be on its way to the replicas, and nobody would look again.
        let latest = self.blog.latest_committed();
        let UserSlot::User(user) = latest.user_slot(user_id).await? else {
            return Ok(Effect::Unchanged);
        };
        if user.item.version <= username_version {
            return Ok(Effect::Unchanged);
        }
        match latest.posts.read(post_id.as_str(), id).await? {
            Some(stored) => rename_item(&self.blog, stored, &user.item.author()).await,
            None => Ok(Effect::Unchanged),
        }
    }
}
