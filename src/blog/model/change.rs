//! Changes of a post: what readers do to it, which it counts, and what its author does.

use std::borrow::Cow;

use super::{Comment, CommentId, Like, Post, PostId, PostText, PostsItem, UserId, like_id};

/// A change of a post, or of its comments or likes, each of which is counted by the post.
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
    /// Another text for the post itself.
    Edit(PostId, PostText),
}

impl Change {
    /// The id of the item that is created, deleted or edited.
    pub fn id(&self) -> Cow<'_, str> {
        match self {
            Self::Comment(comment) => comment.public.id.as_str().into(),
            Self::Like(like) => like.public.id.as_str().into(),
            Self::DeleteComment(id) => id.as_str().into(),
            Self::DeleteLike(user_id) => like_id(user_id).into(),
            Self::Edit(id, _) => id.as_str().into(),
        }
    }

    /// Returns true if an item is created.
    pub fn creates(&self) -> bool {
        matches!(self, Self::Comment(_) | Self::Like(_))
    }

    /// Returns true if an item is deleted.
    pub fn deletes(&self) -> bool {
        matches!(self, Self::DeleteComment(_) | Self::DeleteLike(_))
    }

    /// The item that is created, as `post` has counted it.
    pub fn item(&self, post: &Post) -> Option<PostsItem> {
        let post_version = post.version;
        match self {
            Self::Comment(comment) => {
                Some(PostsItem::Comment(Comment { post_version, ..comment.clone() }))
            }
            Self::Like(like) => Some(PostsItem::Like(Like { post_version, ..like.clone() })),
            Self::DeleteComment(_) | Self::DeleteLike(_) | Self::Edit(..) => None,
        }
    }

    /// About how many bytes it takes in a transaction.
    pub fn size(&self) -> usize {
        let text = if let Self::Comment(comment) = self { comment.public.content.len() } else { 0 };
        text + 1_024
    }
}
