//! The projections that update the blog's copies, by [`tributary_functions::projection`].
//!
//! | projection | reads | updates |
//! | --- | --- | --- |
//! | [`UsernamesInPosts`] | `users` | the name on posts, comments and likes, after a rename |
//! | [`PostsIntegrity`] | `posts` | the same, for items created during the rename; and no comment
//! or like outlives its post |
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

pub use home_feed::{HomeFeed, NewestPosts};
pub use post_copies_in_users::{PostCopies, PostCopiesInUsers};
pub use posts_integrity::PostsIntegrity;
pub use usernames_in_posts::{Usernames, UsernamesInPosts};

use tributary_functions::projection::{ChangeFeedItem, Origin};

use crate::model::{PostsItem, UsersItem};

/// Posts are the sources of copies. Comments and likes have none.
impl ChangeFeedItem for PostsItem {
    const PARTITION_KEY: &'static str = "postId";

    fn origin(&self) -> Option<Origin> {
        match self {
            Self::Post(post) => Some(Origin::root(&post.public.post_id, post.version)),
            Self::DeletedPost(it) => Some(Origin::root(&it.post_id, it.version)),
            Self::Comment(_) | Self::Like(_) => None,
        }
    }
}

/// Users are the sources of names.
impl ChangeFeedItem for UsersItem {
    const PARTITION_KEY: &'static str = "userId";

    fn origin(&self) -> Option<Origin> {
        match self {
            Self::User(user) => Some(Origin::root(&user.user_id, user.version)),
            Self::Renaming(continuation) => Some(continuation.origin()),
            _ => None,
        }
    }
}
