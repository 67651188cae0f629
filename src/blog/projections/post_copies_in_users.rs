//! Posts in short form in the partition of their author, for Q3.

use serde::Deserialize;

use super::{PostState, post_source, post_state};
use crate::{
    blog::{
        Blog,
        model::{DeletedPost, PostCopy, PostsItem, UsersItem},
    },
    cosmos::{StoreError, Stored},
    projection::{Effect, Projection},
};

/// Keeps the copies of posts in `users` true to the posts.
///
/// A copy, or the mark of a deleted one, is replaced only by a newer version and only as it was
/// read; so the newest version wins in whatever order and however often versions come.
pub struct PostCopiesInUsers(pub Blog);

#[derive(Deserialize)]
struct Copied {
    version: u64,
}

impl Projection for PostCopiesInUsers {
    const FUNCTION: &'static str = "PostCopiesInUsers";
    const PARTITION_KEY: &'static str = "postId";
    type Change = PostsItem;

    fn source(change: &PostsItem) -> Option<(String, u64)> {
        post_source(change)
    }

    async fn apply(&self, change: &PostsItem) -> Result<Effect, StoreError> {
        let Some(state) = post_state(&self.0, change).await? else {
            return Ok(Effect::Unchanged);
        };
        let (author, id) = match &state {
            PostState::Live(post) => {
                (&post.public.user_id, PostCopy::id_in_users(&post.public.post_id))
            }
            PostState::Deleted(mark) => (&mark.user_id, PostCopy::id_in_users(&mark.post_id)),
        };
        let users = &self.0.users;
        let existing: Option<Stored<Copied>> = users.read(author.as_str(), &id).await?;
        if existing.as_ref().is_some_and(|copy| copy.item.version >= state.version()) {
            return Ok(Effect::Unchanged);
        }
        let copy = match &state {
            PostState::Live(post) => UsersItem::Post(PostCopy::for_users(post)),
            PostState::Deleted(mark) => {
                UsersItem::DeletedPost(DeletedPost { id: id.clone(), ..mark.clone() })
            }
        };
        let etag = existing.map(|copy| copy.etag);
        users.put(author.as_str(), &id, &copy, etag.as_ref()).await?;
        Ok(Effect::Applied)
    }
}
