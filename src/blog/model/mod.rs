//! The items and their rules. Pure: no input, no output, nothing of HTTP or of Cosmos DB.
//!
//! Each stored item has a public part, which is what the API shows, and beside it what guards the
//! copies: `version` counts the writes of the item itself, `usernameVersion` is the version of the
//! user that the copied name was taken from.

mod feed;
mod post;
mod reaction;
pub mod sizes;
mod user;
mod username;

pub use feed::{FEED_CAPACITY, FEED_PARTITION, FeedHead, FeedMark, HEAD_ID, InFeed, Member, Plan};
pub use post::{
    DeletedPost, Post, PostContent, PostCopy, PostId, PostText, PublicPost, Title, summary,
};
pub use reaction::{Comment, CommentContent, CommentId, Like, PublicComment, PublicLike, like_id};
pub use user::{
    Author, FormerName, NoUser, PublicUser, Renaming, Reservation, User, UserId, UsersItem,
};
pub use username::Username;

use serde::{Deserialize, Serialize};

/// The items of the container `posts`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PostsItem {
    /// A post.
    Post(Post),
    /// A comment on the post of its partition.
    Comment(Comment),
    /// A like of the post of its partition.
    Like(Like),
    /// The mark that a deleted post leaves.
    DeletedPost(DeletedPost),
}

impl PostsItem {
    /// Whose it is.
    pub fn user_id(&self) -> &UserId {
        match self {
            Self::Post(post) => &post.public.user_id,
            Self::Comment(comment) => &comment.public.user_id,
            Self::Like(like) => &like.public.user_id,
            Self::DeletedPost(mark) => &mark.user_id,
        }
    }
}

/// How long the mark of a deleted item stays, in seconds: 30 days.
///
/// It must outlast every delivery of an older version of the item: a change feed that is further
/// behind than this has lost its leases long before.
pub const MARK_TTL_SECONDS: u32 = 30 * 24 * 60 * 60;
