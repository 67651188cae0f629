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

mod posts_integrity;
mod short_posts;
mod usernames_in_posts;

pub use posts_integrity::PostsIntegrity;
pub use short_posts::{HomeFeed, NewestPosts, PostCopies, PostCopiesInUsers};
pub use usernames_in_posts::{Usernames, UsernamesInPosts};
