//! `GET /posts/{postId}/likes/{userId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
};

use crate::{
    Blog,
    model::{Like, PostId, PublicLike, UserId, like_id},
};

/// Returns a like: two point reads.
pub async fn get_like(
    State(blog): State<Blog>,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicLike>, ApiError> {
    let find = async |reads| {
        let like = blog.reading(reads).live_reaction::<Like>(&post_id, &like_id(&user_id)).await?;
        like.ok_or(ApiError::NotFound("like"))
    };
    let like = confirm(find).await?;
    Ok(found(&conditions, &like.item.public, &like.etag))
}
