//! Q6: `GET /feed`.

use axum::{
    Json,
    extract::{RawQuery, State},
};
use serde::Serialize;

use crate::{
    blog::{
        Blog,
        model::{FEED_CAPACITY, FEED_PARTITION, PublicPost},
    },
    cosmos::{Query, Scope, StoreError},
    http::{ApiError, limit_of},
};

/// The newest posts in short form.
#[derive(Serialize)]
pub struct Feed {
    items: Vec<PublicPost>,
}

/// The newest posts, at most 100: one query in one logical partition.
pub async fn get_feed(
    State(blog): State<Blog>,
    RawQuery(query): RawQuery,
) -> Result<Json<Feed>, ApiError> {
    #[expect(clippy::cast_possible_truncation, reason = "100")]
    let limit = limit_of(query.as_deref(), FEED_CAPACITY as u32)?;
    let items = blog.feed.query(newest(limit)?, Scope::Partition(FEED_PARTITION), limit).await?;
    Ok(Json(Feed { items }))
}

fn newest(limit: u32) -> Result<Query, StoreError> {
    // The head of the feed and the marks of deleted posts have no creation date. What the store
    // adds to each item would be a third of the result.
    let query = Query::from(
        "SELECT TOP @limit c.id, c.postId, c.userId, c.userUsername, c.title, c.content, \
         c.commentCount, c.likeCount, c.creationDate FROM c WHERE IS_DEFINED(c.creationDate) \
         ORDER BY c.creationDate DESC, c.id DESC",
    );
    Ok(query.with_parameter("@limit", limit)?)
}
