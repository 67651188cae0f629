//! What keeps the blog's copies true. See [`crate::projection`] for how.
//!
//! | projection | reads | keeps true |
//! | --- | --- | --- |
//! | [`UsernamesInPosts`] | `users` | the name on posts, comments and likes, after a rename |
//! | [`PostsIntegrity`] | `posts` | the same, for what was created during the rename; and no comment or like outlives its post |
//! | [`PostCopiesInUsers`] | `posts` | short posts in the partition of their author |
//! | [`HomeFeed`] | `posts` | the 100 newest short posts in `feed` |
//!
//! Names reach the short posts by way of the posts: a renamed post is a change of its own. So the
//! chain ends: users → posts → copies, and nothing reads the change feed of the copies but to
//! ignore them.

mod home_feed;
mod post_copies_in_users;
mod posts_integrity;
mod usernames_in_posts;

pub use home_feed::HomeFeed;
pub use post_copies_in_users::{PostCopies, PostCopiesInUsers};
pub use posts_integrity::PostsIntegrity;
pub use usernames_in_posts::{Usernames, UsernamesInPosts};

use super::{
    Blog,
    model::{DeletedPost, Post, PostId, PostsItem},
};
use crate::{cosmos::StoreError, projection::Delivered};

/// The state of a post that the copies of it follow.
pub(crate) enum PostState {
    Live(Box<Post>),
    Deleted(DeletedPost),
}

impl PostState {
    fn version(&self) -> u64 {
        match self {
            Self::Live(post) => post.version,
            Self::Deleted(mark) => mark.version,
        }
    }

    fn id(&self) -> &PostId {
        match self {
            Self::Live(post) => &post.public.post_id,
            Self::Deleted(mark) => &mark.post_id,
        }
    }
}

/// What a change of `posts` says about a post; `None` for comments and likes.
///
/// It is read again from the container when the host may have rewritten one of its texts.
async fn post_state(blog: &Blog, change: &PostsItem) -> Result<Option<PostState>, StoreError> {
    match change {
        PostsItem::Post(post) if post.may_be_rewritten() => {
            let id = post.public.post_id.as_str();
            let version = |item: &PostsItem| match item {
                PostsItem::Post(post) => Some(post.version),
                PostsItem::DeletedPost(mark) => Some(mark.version),
                PostsItem::Comment(_) | PostsItem::Like(_) => None,
            };
            let stored = Delivered(post.version).read(&blog.posts, (id, id), version).await?;
            Ok(stored.and_then(|stored| match stored.item {
                PostsItem::Post(post) => Some(PostState::Live(Box::new(post))),
                PostsItem::DeletedPost(mark) => Some(PostState::Deleted(mark)),
                PostsItem::Comment(_) | PostsItem::Like(_) => None,
            }))
        }
        PostsItem::Post(post) => Ok(Some(PostState::Live(Box::new(post.clone())))),
        PostsItem::DeletedPost(mark) => Ok(Some(PostState::Deleted(mark.clone()))),
        PostsItem::Comment(_) | PostsItem::Like(_) => Ok(None),
    }
}

/// The source of a change that is of interest to the copies of posts.
fn post_source(change: &PostsItem) -> Option<(String, u64)> {
    match change {
        PostsItem::Post(post) => Some((post.public.post_id.to_string(), post.version)),
        PostsItem::DeletedPost(mark) => Some((mark.post_id.to_string(), mark.version)),
        PostsItem::Comment(_) | PostsItem::Like(_) => None,
    }
}
