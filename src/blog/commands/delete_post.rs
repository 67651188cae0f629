//! `DELETE /posts/{postId}`.

use axum::{extract::State, http::StatusCode};

use crate::{
    blog::{
        Blog,
        model::{PostId, PostsItem},
        stores::PostSlot,
    },
    cosmos::retry,
    http::{Actor, ApiError, Conditions, Params},
};

/// Deletes a post: two store requests. A mark takes its place, at which its comments and likes
/// are gone for all readers; the change feed carries the mark on to remove them and the copies.
pub async fn delete_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params(id): Params<PostId>,
    conditions: Conditions,
) -> Result<StatusCode, ApiError> {
    retry(|answer_lost| attempt(&blog, &actor, &id, &conditions, answer_lost)).await
}

async fn attempt(
    blog: &Blog,
    actor: &Actor,
    id: &PostId,
    conditions: &Conditions,
    answer_lost: bool,
) -> Result<StatusCode, ApiError> {
    let post = match blog.post_slot(id).await? {
        PostSlot::Post(post) => post,
        PostSlot::Deleted(_) if answer_lost => return Ok(StatusCode::NO_CONTENT),
        _ if conditions.demands_existence() => return Err(ApiError::PreconditionFailed),
        _ => return Err(ApiError::NotFound("post")),
    };
    actor.must_be(post.item.public.user_id.as_str())?;
    conditions.check(Some(&post.etag))?;
    let mark = PostsItem::DeletedPost(post.item.deleted());
    blog.posts.replace(id.as_str(), id.as_str(), &mark, &post.etag).await?;
    Ok(StatusCode::NO_CONTENT)
}
