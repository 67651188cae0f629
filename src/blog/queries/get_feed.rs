//! Q6: `GET /feed`.

use axum::{
    extract::{RawQuery, State},
    http::header::CONTENT_TYPE,
    response::IntoResponse,
};
use tributary_functions::{
    cosmos::{JsonText, Query, Scope, StoreError},
    http::{ApiError, limit_of},
    projection::window::Window,
};

use crate::blog::{Blog, projections::NewestPosts};

/// The newest posts, at most 100: one query in one logical partition. The copies in the feed are
/// what readers see of posts, so they are handed through.
pub async fn get_feed(
    State(blog): State<Blog>,
    RawQuery(query): RawQuery,
) -> Result<impl IntoResponse, ApiError> {
    let limit = limit_of(query.as_deref(), NewestPosts::CAPACITY)?;
    let scope = Scope::Partition(NewestPosts::PARTITION);
    let posts: Vec<JsonText> = blog.feed.query(newest(limit)?, scope, limit).await?;
    let body = JsonText::array("{\"items\":", posts, "}");
    Ok(([(CONTENT_TYPE, "application/json")], body))
}

fn newest(limit: u32) -> Result<Query, StoreError> {
    // The head of the feed and the tombstones have no creation date. What the store
    // adds to each item would be a third of the result.
    let query = Query::from(
        "SELECT TOP @limit c.id, c.postId, c.userId, c.userUsername, c.title, c.content, \
         c.commentCount, c.likeCount, c.creationDate FROM c WHERE IS_DEFINED(c.creationDate) \
         ORDER BY c.creationDate DESC, c.id DESC",
    );
    Ok(query.with_parameter("@limit", limit)?)
}
