//! Q2: `GET /posts/{postId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
};

use crate::{
    Blog,
    model::{PostId, PublicPost},
};

/// Returns a post with its author's name and its counts: one point read.
pub async fn get_post(
    State(blog): State<Blog>,
    Params(id): Params<PostId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicPost>, ApiError> {
    let post = confirm(async |reads| blog.reading(reads).post(&id).await).await?;
    Ok(found(&conditions, &post.item.public, &post.etag))
}
