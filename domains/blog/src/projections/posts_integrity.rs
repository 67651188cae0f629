//! The invariants inside `posts` that commands alone cannot uphold.

use tributary_functions::{
    prelude::*,
    projection::{Background, Effect, Projection, removal::remove_for_a_slice},
};

use super::usernames_in_posts::Usernames;
use crate::{
    Blog,
    model::{CopiedName, PostsItem},
};

/// The projection that upholds the invariants inside `posts`.
///
/// - *Names.* An item created under an old name while a rename ran gets the new one
///   ([`fan_out`]).
/// - *Deleted posts.* Their comments and likes are removed here, however many there are: in slices
///   of time, within the budget that renames have, and with low priority in the store.
pub struct PostsIntegrity {
    blog: Blog,
    names: RepairProjection<Usernames>,
    background: Background,
}

impl PostsIntegrity {
    pub fn new(blog: &Blog, background: &Background) -> Self {
        let names = RepairProjection::new(&blog.users, &blog.posts);
        Self { blog: blog.clone(), names, background: background.clone() }
    }
}

impl Projection for PostsIntegrity {
    const FUNCTION: &'static str = "PostsIntegrity";
    type Change = PostsItem;

    fn container(&self) -> &Container {
        &self.blog.posts
    }

    fn source(change: &PostsItem) -> Option<(String, u64)> {
        let (post_id, id, version) = match change {
            PostsItem::Post(post) => (&post.public.post_id, post.public.id.as_str(), post.version),
            PostsItem::DeletedPost(it) => (&it.post_id, it.id.as_str(), it.version),
            PostsItem::Comment(_) | PostsItem::Like(_) => {
                let name = change.name()?;
                (name.post_id, name.id, name.version)
            }
        };
        // A user's likes have one id, each in the partition of its post.
        Some((format!("{post_id} {id}"), version))
    }

    async fn apply(&self, change: &PostsItem) -> Result<Effect, StoreError> {
        if let PostsItem::DeletedPost(tombstone) = change {
            let blog = self.blog.in_background();
            return remove_for_a_slice(&blog, &self.background, tombstone).await;
        }
        let Some(CopiedName { post_id, user_id, id, version, .. }) = change.name() else {
            return Ok(Effect::Unchanged);
        };
        let copied = Origin::root(user_id, version);
        self.names.repair(&copied, (post_id.as_str(), id)).await
    }
}
