//! The comments and likes of a post, which counts them.

use super::model::{
    Comment, CommentId, DeletedPost, Like, Post, PostId, PostText, PostsItem, User, UserId, like_id,
};
use tributary_functions::engines::{
    counted_children::{CHILD_BYTES, Changes, Family},
    idempotency::remembers,
};

/// A post with its comments and likes; an edit of the post goes with them.
pub(super) struct PostFamily;

/// A comment or a like.
#[derive(Debug, Clone)]
pub(super) enum Reaction {
    /// A comment.
    Comment(Comment),
    /// A like.
    Like(Like),
}

/// Which comment or like of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReactionId {
    /// A comment.
    Comment(CommentId),
    /// The like of a user.
    Like(UserId),
}

impl Family for PostFamily {
    type Key = PostId;
    type Item = PostsItem;
    type Parent = Post;
    type Child = Reaction;
    type ChildId = ReactionId;
    type Edit = PostText;

    fn parent(item: PostsItem) -> Option<Post> {
        if let PostsItem::Post(post) = item { Some(post) } else { None }
    }

    fn parent_item(post: Post) -> PostsItem {
        PostsItem::Post(post)
    }

    fn child(item: PostsItem) -> Option<Reaction> {
        match item {
            PostsItem::Comment(comment) => Some(Reaction::Comment(comment)),
            PostsItem::Like(like) => Some(Reaction::Like(like)),
            PostsItem::Post(_) | PostsItem::DeletedPost(_) => None,
        }
    }

    fn child_item(reaction: &Reaction, post: &Post) -> PostsItem {
        let post_version = post.version;
        match reaction {
            Reaction::Comment(comment) => {
                PostsItem::Comment(Comment { post_version, ..comment.clone() })
            }
            Reaction::Like(like) => PostsItem::Like(Like { post_version, ..like.clone() }),
        }
    }

    fn child_id(reaction: &Reaction) -> ReactionId {
        match reaction {
            Reaction::Comment(comment) => ReactionId::Comment(comment.public.id.clone()),
            Reaction::Like(like) => ReactionId::Like(like.public.user_id.clone()),
        }
    }

    fn after(post: &Post, changes: &Changes<'_, Self>) -> Post {
        let is_comment = |id: &ReactionId| matches!(id, ReactionId::Comment(_));
        let comments = changes.count(post.public.comment_count, is_comment);
        let likes = changes.count(post.public.like_count, |id| !is_comment(id));
        let post = post.counted(comments, likes);
        if let Some(text) = changes.edit { post.with(text) } else { post }
    }

    /// Under the id of a deleted post there may be one of another author by now.
    fn takes(post: &Post, text: &PostText) -> bool {
        post.public.user_id == text.user_id
    }

    /// A like is taken back and given again under one id.
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

remembers!(Post, DeletedPost, User);

impl std::fmt::Display for ReactionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Comment(id) => id.fmt(f),
            Self::Like(user_id) => f.write_str(&like_id(user_id)),
        }
    }
}

impl From<Comment> for Reaction {
    fn from(comment: Comment) -> Self {
        Self::Comment(comment)
    }
}

impl From<Like> for Reaction {
    fn from(like: Like) -> Self {
        Self::Like(like)
    }
}

impl TryFrom<Reaction> for Comment {
    type Error = Like;

    fn try_from(reaction: Reaction) -> Result<Self, Like> {
        match reaction {
            Reaction::Comment(comment) => Ok(comment),
            Reaction::Like(like) => Err(like),
        }
    }
}

impl TryFrom<Reaction> for Like {
    type Error = Comment;

    fn try_from(reaction: Reaction) -> Result<Self, Comment> {
        match reaction {
            Reaction::Like(like) => Ok(like),
            Reaction::Comment(comment) => Err(comment),
        }
    }
}
