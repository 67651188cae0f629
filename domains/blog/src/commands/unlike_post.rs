//! `DELETE /posts/{postId}/likes/{userId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::http::{Actor, ApiError, ItemCommand, Params};

use crate::{
    Blog,
    model::{PostId, UserId},
    reactions::{Reaction, ReactionId},
};

/// Deletes a like and counts it off, in one transaction: two store requests if no other command
/// writes to the post.
pub async fn unlike_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    actor.must_be(user_id.as_str())?;
    // The id of the like names its user, so the like is not read to find that out.
    let actor = Actor::ANY_USER;
    let id = ReactionId::Like(user_id);
    command.delete_child(&blog.reactions, (&post_id, id), &actor, Reaction::user_id).await
}
