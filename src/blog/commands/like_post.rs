//! C4: `PUT /posts/{postId}/likes/{userId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, ETag, StoreError, confirm, retry},
    engines::counted_children::{Creation, Request},
    http::{self, Actor, ApiError, Conditions, ItemResponse, Params},
    values::{CommandId, Timestamp},
};

use crate::blog::{
    Blog,
    model::{Like, PostId, PublicLike, UserId, like_id},
};

/// Creates a like and counts it, in one transaction: two store requests when nobody else writes to
/// the post, and one for a user who has not been seen lately. Liking again changes nothing.
pub async fn like_post(
    State(blog): State<Blog>,
    actor: Actor,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    conditions: Conditions,
    command: CommandId,
) -> Result<ItemResponse<PublicLike>, ApiError> {
    actor.must_be(user_id.as_str())?;
    let author = blog.confirmed_author(&user_id).await?;
    if conditions.demands_existence() {
        // Under this condition a like is found or not, and never created.
        let find = async |reads| {
            let blog = blog.reading(reads);
            blog.post(&post_id).await?;
            let like = blog
                .reaction::<Like>(&post_id, &like_id(&user_id))
                .await?
                .ok_or(ApiError::PreconditionFailed)?;
            found(&like.item, &like.etag, &conditions)
        };
        return confirm(find).await;
    }
    let like = Like::new(&post_id, &author, Timestamp::now()).by(command.clone());
    retry(async |attempt: Attempt| {
        let request = Request::new(&command, attempt.reads);
        match blog.reactions.create(&post_id, like.clone(), request).await? {
            Creation::Created(etag) => Ok(created(&like, &etag)),
            // An earlier attempt has created it, or the same request, which the host has repeated.
            Creation::Exists(stored) if stored.item.command == like.command => {
                Ok(created(&stored.item, &stored.etag))
            }
            Creation::Exists(stored) => found(&stored.item, &stored.etag, &conditions),
            // A like can be given again.
            Creation::Deleted => Err(StoreError::race(false).into()),
            Creation::NoParent => Err(ApiError::NotFound("post")),
        }
    })
    .await
}

fn found(
    like: &Like,
    etag: &ETag,
    conditions: &Conditions,
) -> Result<ItemResponse<PublicLike>, ApiError> {
    conditions.check(Some(etag))?;
    Ok(http::item(StatusCode::OK, &like.public, etag))
}

fn created(like: &Like, etag: &ETag) -> ItemResponse<PublicLike> {
    let public = &like.public;
    let location = format!("/api/posts/{}/likes/{}", public.post_id, public.user_id);
    http::created(&location, public, etag)
}
