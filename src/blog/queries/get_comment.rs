//! `GET /posts/{postId}/comments/{commentId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
};

use crate::blog::{
    Blog,
    model::{CommentId, PostId, PublicComment},
};

/// A comment: two point reads, for the comments of a deleted post are not there either.
pub async fn get_comment(
    State(blog): State<Blog>,
    Params((post_id, comment_id)): Params<(PostId, CommentId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicComment>, ApiError> {
    let find = async |reads| {
        let blog = blog.reading(reads);
        let comment = async { Ok(blog.comment(&post_id, &comment_id).await?) };
        let (_, comment) = futures::try_join!(blog.post(&post_id), comment)?;
        let comment = comment.ok_or(ApiError::NotFound("comment"))?;
        Ok(found(&conditions, &comment.item.public, &comment.etag))
    };
    confirm(find).await
}
