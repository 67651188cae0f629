//! C4: `PUT /posts/{postId}/likes/{userId}`.

use axum::{extract::State, http::StatusCode, response::Response};

use crate::{
    blog::{
        Blog,
        groups::{Done, Operation},
        model::{Change, Like, PostId, PostsItem, UserId},
    },
    cosmos::{Attempt, ETag, confirm, retry},
    http::{self, Actor, ApiError, Conditions, Params},
    values::{CommandId, Timestamp},
};

/// Creates a like and counts it, in one transaction: two store requests when nobody else writes to
/// the post, and one for a user who has not been seen lately. Liking again changes nothing.
pub async fn like_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    conditions: Conditions,
    command: CommandId,
) -> Result<Response, ApiError> {
    actor.must_be(user_id.as_str())?;
    let author = blog.confirmed_author(&user_id).await?;
    if conditions.demands_existence() {
        // Under this condition a like is found or not, and never created.
        let find = async |reads| {
            let blog = blog.reading(reads);
            blog.post(&post_id).await?;
            let like = blog.like(&post_id, &user_id).await?.ok_or(ApiError::PreconditionFailed)?;
            found(&like.item, &like.etag, &conditions)
        };
        return confirm(find).await;
    }
    let like = Like::new(&post_id, &author, Timestamp::now()).by(command.clone());
    let attempt = async |attempt: Attempt| {
        let operation = Operation::new(Change::Like(like.clone()), &command);
        match blog.reading(attempt.reads).change(&post_id, operation).await? {
            Done::Written(etag) => Ok(created(&like, &etag)),
            // An earlier attempt has created it, or the same request, which the host has repeated.
            Done::Exists { item: PostsItem::Like(stored), etag, .. } => {
                if stored.command == like.command {
                    Ok(created(&stored, &etag))
                } else {
                    found(&stored, &etag, &conditions)
                }
            }
            Done::Exists { .. } | Done::Missing { .. } | Done::Edited(_) => Err(ApiError::Internal),
        }
    };
    retry(attempt).await
}

/// The answer when the like is there already.
fn found(like: &Like, etag: &ETag, conditions: &Conditions) -> Result<Response, ApiError> {
    conditions.check(Some(etag))?;
    Ok(http::item(StatusCode::OK, &like.public, etag))
}

fn created(like: &Like, etag: &ETag) -> Response {
    let public = &like.public;
    let location = format!("/api/posts/{}/likes/{}", public.post_id, public.user_id);
    http::created(&location, public, etag)
}
