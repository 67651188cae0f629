//! Posts in short form in the partition of their author, for Q3.

use super::{PostState, post_source, post_state};
use crate::{
    blog::{
        Blog,
        model::{PostCopy, PostsItem, UsersItem},
    },
    cosmos::{Container, StoreError},
    projection::{Effect, Projection, VersionedCopy},
};

/// Keeps the copies of posts in `users` true to the posts.
///
/// Each copy, and the mark of a deleted one, is a [`VersionedCopy`].
pub struct PostCopiesInUsers(pub Blog);

impl Projection for PostCopiesInUsers {
    const FUNCTION: &'static str = "PostCopiesInUsers";
    const PARTITION_KEY: &'static str = "postId";
    type Change = PostsItem;

    fn container(&self) -> &Container {
        &self.0.posts
    }

    fn source(change: &PostsItem) -> Option<(String, u64)> {
        post_source(change)
    }

    async fn apply(&self, change: &PostsItem) -> Result<Effect, StoreError> {
        match post_state(&self.0, change).await? {
            Some(state) => copy_of(&state).write(&self.0.users).await,
            None => Ok(Effect::Unchanged),
        }
    }
}

/// The copy of a post in the partition of its author.
fn copy_of(state: &PostState) -> VersionedCopy<UsersItem> {
    let (author, post_id) = state.author_and_id();
    let id = PostCopy::id_in_users(post_id);
    let item = match state {
        PostState::Live(post) => UsersItem::Post(PostCopy::for_users(post)),
        PostState::Deleted(mark) => UsersItem::DeletedPost(mark.of_copy(id.clone())),
    };
    VersionedCopy { partition: author.to_string(), id, version: state.version(), item }
}
