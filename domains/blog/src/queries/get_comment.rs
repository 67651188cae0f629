//! `GET /posts/{postId}/comments/{commentId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
};

use crate::{
    Blog,
    model::{Comment, CommentId, PostId, PublicComment},
};

/// Returns a comment: two point reads.
pub async fn get_comment(
    State(blog): State<Blog>,
    Params((post_id, comment_id)): Params<(PostId, CommentId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicComment>, ApiError> {
    let find = async |reads| {
        let comment =
            blog.reading(reads).live_reaction::<Comment>(&post_id, comment_id.as_str()).await?;
        comment.ok_or(ApiError::NotFound("comment"))
    };
    let comment = confirm(find).await?;
    Ok(found(&conditions, &comment.item.public, &comment.etag))
}
