//! What readers do to a post: comment, like, and take back.

use std::borrow::Cow;

use super::{Comment, CommentId, Like, Post, PostsItem, UserId, like_id};

/// A change of a post's comments or likes. Each is counted by the post.
#[derive(Debug, Clone)]
pub enum Change {
    /// A new comment.
    Comment(Comment),
    /// A new like.
    Like(Like),
    /// A comment is taken back.
    DeleteComment(CommentId),
    /// A user's like is taken back.
    DeleteLike(UserId),
}

impl Change {
    /// The id of the item that is created or deleted.
    pub fn id(&self) -> Cow<'_, str> {
        match self {
            Self::Comment(comment) => comment.public.id.as_str().into(),
            Self::Like(like) => like.public.id.as_str().into(),
            Self::DeleteComment(id) => id.as_str().into(),
            Self::DeleteLike(user_id) => like_id(user_id).into(),
        }
    }

    /// Whether an item is created; otherwise one is deleted.
    pub fn creates(&self) -> bool {
        matches!(self, Self::Comment(_) | Self::Like(_))
    }

    /// The item that is created, as `post` has counted it.
    pub fn item(&self, post: &Post) -> Option<PostsItem> {
        let post_version = post.version;
        match self {
            Self::Comment(comment) => {
                Some(PostsItem::Comment(Comment { post_version, ..comment.clone() }))
            }
            Self::Like(like) => Some(PostsItem::Like(Like { post_version, ..like.clone() })),
            Self::DeleteComment(_) | Self::DeleteLike(_) => None,
        }
    }

    /// About how many bytes it takes in a transaction.
    pub fn size(&self) -> usize {
        let text = if let Self::Comment(comment) = self { comment.public.content.len() } else { 0 };
        text + 1_024
    }
}
