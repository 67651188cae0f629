//! Q2: `GET /posts/{postId}`.

use axum::{extract::State, response::Response};

use crate::{
    blog::{Blog, model::PostId},
    http::{ApiError, Conditions, Params, found},
};

/// A post with its author's name and its counts: one point read.
pub async fn get_post(
    State(blog): State<Blog>,
    Params(id): Params<PostId>,
    conditions: Conditions,
) -> Result<Response, ApiError> {
    let post = blog.post(&id).await?;
    Ok(found(&conditions, &post.item.public, &post.etag))
}
