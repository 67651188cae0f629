//! `DELETE /posts/{postId}/likes/{userId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    http::{Actor, ApiError, Conditions, Params},
    values::CommandId,
};

use super::delete_comment::remove;
use crate::blog::{
    Blog,
    model::{PostId, UserId},
    reactions::ReactionId,
};

/// Deletes a like and counts it off, in one transaction: two store requests when nobody else
/// writes to the post.
pub async fn unlike_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    actor.must_be(user_id.as_str())?;
    // The id says whose like it is.
    let by = Actor::ANYBODY;
    let like = ("like", ReactionId::Like(user_id));
    remove(&blog, &post_id, like, &by, &conditions, &command).await
}
