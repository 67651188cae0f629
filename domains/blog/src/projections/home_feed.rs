//! The newest posts in short form, all in one logical partition, for Q6.

use tributary_functions::{
    prelude::*,
    projection::window::{Window, WindowProjection},
};

use super::PostCopies;
use crate::model::{Post, PostCopy, PostsItem};

/// The projection that updates `feed`: exactly the 100 newest posts that exist.
pub type HomeFeed = WindowProjection<NewestPosts>;

/// The feed (seed article, request Q6).
pub struct NewestPosts;

impl Window for NewestPosts {
    const FUNCTION: &'static str = "HomeFeed";
    const CAPACITY: u32 = 100;
    const PARTITION: &'static str = "post";
    type Change = PostsItem;
    type Source = Post;
    type Copy = PostCopy;

    fn source(change: &PostsItem) -> Option<&Post> {
        if let PostsItem::Post(post) = change { Some(post) } else { None }
    }

    fn creation_date(post: &Post) -> Timestamp {
        post.public.creation_date
    }

    fn copy(post: &Post) -> PostCopy {
        PostCopy::for_feed(post)
    }

    fn may_be_rewritten(change: &PostsItem) -> bool {
        PostCopies::may_be_rewritten(change)
    }
}
