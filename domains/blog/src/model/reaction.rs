//! Comments and likes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    projection::item,
    values::{self, CommandId, Timestamp, id_rule, length_rule},
};

use super::{Author, PostId, PostsItem, UserId, Username};

values::checked_text!(
    /// The id of a comment.
    CommentId, "019ae5b2-7c1f-7d2a-9f0e-3b6d5a4c2e10", id_rule;

    /// The content of a comment: 1 to 10,000 characters.
    CommentContent, "And out of order, across partitions.", length_rule(1..=10_000)
);

#[item(PostsItem, partition = post_id, id = id)]
pub struct Comment {
    #[serde(flatten)]
    pub public: PublicComment,
    pub username_version: u64,
    /// The version of the post that counted the comment first; 0 before that. A comment of a deleted
    /// post has a lower version than the tombstone, a comment of a later post with the same id a higher
    /// one.
    pub post_version: u64,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Comment")]
pub struct PublicComment {
    /// Made by the server.
    pub id: CommentId,
    /// The partition key.
    pub post_id: PostId,
    /// The author of the comment.
    pub user_id: UserId,
    /// The author's name.
    pub user_username: Username,
    /// The text.
    #[schemars(with = "CommentContent")]
    pub content: String,
    /// The date of creation.
    pub creation_date: Timestamp,
}

#[item(PostsItem, partition = post_id, id = id)]
pub struct Like {
    #[serde(flatten)]
    pub public: PublicLike,
    pub username_version: u64,
    /// The version of the post, as in [`Comment::post_version`].
    pub post_version: u64,
    /// The command that created the like; likes of earlier releases lack it. The short name saves
    /// request units in lists of likes.
    #[serde(default, rename = "by", skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandId>,
}

/// A like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Like")]
pub struct PublicLike {
    /// Made from the user's id, so that a user likes a post once.
    #[schemars(example = "like:ann")]
    pub id: String,
    /// The partition key.
    pub post_id: PostId,
    /// The user.
    pub user_id: UserId,
    /// The user's name.
    pub user_username: Username,
    /// The date of creation.
    pub creation_date: Timestamp,
}

impl Comment {
    pub fn new(
        post_id: &PostId,
        id: CommentId,
        author: &Author,
        content: &CommentContent,
        creation_date: Timestamp,
    ) -> Self {
        Self {
            public: PublicComment {
                id,
                post_id: post_id.clone(),
                user_id: author.user_id.clone(),
                user_username: author.username.clone(),
                content: content.to_string(),
                creation_date,
            },
            username_version: author.version,
            post_version: 0,
        }
    }
}

/// Returns the id of a user's like among the items of a post. No id of a post or a comment contains
/// a colon.
pub fn like_id(user_id: &UserId) -> String {
    format!("like:{user_id}")
}

impl Like {
    pub fn new(post_id: &PostId, author: &Author, creation_date: Timestamp) -> Self {
        Self {
            public: PublicLike {
                id: like_id(&author.user_id),
                post_id: post_id.clone(),
                user_id: author.user_id.clone(),
                user_username: author.username.clone(),
                creation_date,
            },
            username_version: author.version,
            post_version: 0,
            command: None,
        }
    }

    pub fn created_by(self, command: CommandId) -> Self {
        Self { command: Some(command), ..self }
    }
}
