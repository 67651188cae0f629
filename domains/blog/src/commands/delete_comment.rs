//! `DELETE /posts/{postId}/comments/{commentId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::http::{Actor, ApiError, ItemCommand, Params};

use crate::{
    Blog,
    model::{CommentId, PostId},
    reactions::{Reaction, ReactionId},
};

/// Deletes a comment and counts it off, in one transaction: two store requests if no other command
/// writes to the post, and one more to read the comment's author if callers are signed in.
pub async fn delete_comment(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, comment_id)): Params<(PostId, CommentId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let id = ReactionId::Comment(comment_id);
    command.delete_child(&blog.reactions, (&post_id, id), &actor, Reaction::user_id).await
}
