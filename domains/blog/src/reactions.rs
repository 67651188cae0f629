//! The comments and likes of a post, which counts them.

use std::convert::Infallible;

use super::model::{Comment, CommentId, Like, Post, PostId, PostText, PostsItem, UserId, like_id};
use tributary_functions::{engines::counted_children::CHILD_BYTES, prelude::*};

/// A post with its comments and likes. An edit of the post is part of the same transactions.
pub(super) struct PostFamily;

#[derive(Debug, Clone)]
pub(super) enum Reaction {
    Comment(Comment),
    Like(Like),
}

item_types!(Reaction: Comment(Comment), Like(Like));

impl Reaction {
    pub(super) fn user_id(&self) -> &str {
        match self {
            Self::Comment(comment) => comment.public.user_id.as_str(),
            Self::Like(like) => like.public.user_id.as_str(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReactionId {
    Comment(CommentId),
    Like(UserId),
}

impl TryFrom<PostsItem> for Reaction {
    type Error = PostsItem;

    fn try_from(item: PostsItem) -> Result<Self, PostsItem> {
        match item {
            PostsItem::Comment(comment) => Ok(Self::Comment(comment)),
            PostsItem::Like(like) => Ok(Self::Like(like)),
            item @ (PostsItem::Post(_) | PostsItem::DeletedPost(_)) => Err(item),
        }
    }
}

impl Family for PostFamily {
    const PARENT: &'static str = "post";
    const CHILD: &'static str = "reaction";
    type Key = PostId;
    type Item = PostsItem;
    type Parent = Post;
    type Child = Reaction;
    type ChildId = ReactionId;
    type Edit = PostText;
    type Refused = Infallible;

    fn child_item(reaction: &Reaction, post: &Post) -> PostsItem {
        let post_version = post.version;
        match reaction {
            Reaction::Comment(comment) => Comment { post_version, ..comment.clone() }.into(),
            Reaction::Like(like) => Like { post_version, ..like.clone() }.into(),
        }
    }

    fn child_id(reaction: &Reaction) -> ReactionId {
        match reaction {
            Reaction::Comment(comment) => ReactionId::Comment(comment.public.id.clone()),
            Reaction::Like(like) => ReactionId::Like(like.public.user_id.clone()),
        }
    }

    fn child_name(id: &ReactionId) -> &'static str {
        match id {
            ReactionId::Comment(_) => "comment",
            ReactionId::Like(_) => "like",
        }
    }

    fn after(post: &Post, changes: &Changes<'_, Self>) -> Post {
        let is_comment = |id: &ReactionId| matches!(id, ReactionId::Comment(_));
        let comments = changes.count(post.public.comment_count, is_comment);
        let likes = changes.count(post.public.like_count, |id| !is_comment(id));
        let post = post.with_counts(comments, likes);
        if let Some(text) = changes.edit { post.with_text(text) } else { post }
    }

    /// A later post under the id of a deleted one may belong to another author.
    fn takes(post: &Post, text: &PostText) -> bool {
        post.public.user_id == text.user_id
    }

    /// A like that was deleted can be created again under its id.
    fn is_created_once(id: &ReactionId) -> bool {
        matches!(id, ReactionId::Comment(_))
    }

    fn size(reaction: &Reaction) -> usize {
        match reaction {
            Reaction::Comment(comment) => CHILD_BYTES + comment.public.content.len(),
            Reaction::Like(_) => CHILD_BYTES,
        }
    }
}

impl std::fmt::Display for ReactionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Comment(id) => id.fmt(f),
            Self::Like(user_id) => f.write_str(&like_id(user_id)),
        }
    }
}
