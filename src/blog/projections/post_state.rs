//! The state of a post, as a change tells it.

use crate::{
    blog::{
        Blog,
        model::{DeletedPost, Post, PostId, PostsItem},
    },
    cosmos::StoreError,
    projection::Delivered,
};

/// The state of a post that the copies of it follow.
pub(crate) enum PostState {
    Live(Box<Post>),
    Deleted(DeletedPost),
}

impl PostState {
    pub(super) fn version(&self) -> u64 {
        match self {
            Self::Live(post) => post.version,
            Self::Deleted(mark) => mark.version,
        }
    }

    pub(super) fn id(&self) -> &PostId {
        match self {
            Self::Live(post) => &post.public.post_id,
            Self::Deleted(mark) => &mark.post_id,
        }
    }
}

/// What a change of `posts` says about a post; `None` for comments and likes.
///
/// It is read again from the container when the host may have rewritten one of its texts.
pub(super) async fn post_state(
    blog: &Blog,
    change: &PostsItem,
) -> Result<Option<PostState>, StoreError> {
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
pub(super) fn post_source(change: &PostsItem) -> Option<(String, u64)> {
    match change {
        PostsItem::Post(post) => Some((post.public.post_id.to_string(), post.version)),
        PostsItem::DeletedPost(mark) => Some((mark.post_id.to_string(), mark.version)),
        PostsItem::Comment(_) | PostsItem::Like(_) => None,
    }
}
