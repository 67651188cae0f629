//! `DELETE /posts/{postId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, retry},
    engines::command::Delete,
    http::{Actor, ApiError, Conditions, Params},
    values::{CommandId, Timestamp},
};

use crate::blog::{
    Blog,
    model::{PostId, PostsItem},
};

/// Deletes a post: two store requests. A tombstone takes its place, at which its comments and
/// likes are gone for all readers; the change feed carries the tombstone on to remove them and the
/// copies.
pub async fn delete_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params(id): Params<PostId>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    let attempt = async |one: Attempt| {
        attempt(&blog.reading(one.reads), &actor, &id, &conditions, &command).await
    };
    retry(attempt).await
}

async fn attempt(
    blog: &Blog,
    actor: &Actor,
    id: &PostId,
    conditions: &Conditions,
    command: &CommandId,
) -> Result<StatusCode, ApiError> {
    let post = match blog.post_slot(id).await?.delete(command) {
        Delete::Live(post) => post,
        Delete::Done => return Ok(StatusCode::NO_CONTENT),
        Delete::Missing => return Err(conditions.missing("post")),
    };
    actor.must_be(post.item.public.user_id.as_str())?;
    conditions.check(Some(&post.etag))?;
    let mut tombstone = post.item.deleted();
    tombstone.recent.remember([command.clone()], Timestamp::now());
    let tombstone = PostsItem::DeletedPost(tombstone);
    blog.posts.replace(id.as_str(), id.as_str(), &tombstone, &post.etag).await?;
    Ok(StatusCode::NO_CONTENT)
}
