//! `GET /posts/{postId}/likes/{userId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
};

use crate::blog::{
    Blog,
    model::{PostId, PublicLike, UserId},
};

/// A like: two point reads, for the likes of a deleted post are not there either.
pub async fn get_like(
    State(blog): State<Blog>,
    Params((post_id, user_id)): Params<(PostId, UserId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicLike>, ApiError> {
    let find = async |reads| {
        let blog = blog.reading(reads);
        let like = async { Ok(blog.like(&post_id, &user_id).await?) };
        let (_, like) = futures::try_join!(blog.post(&post_id), like)?;
        let like = like.ok_or(ApiError::NotFound("like"))?;
        Ok(found(&conditions, &like.item.public, &like.etag))
    };
    confirm(find).await
}
