//! Q6: `GET /feed`.

use axum::extract::{RawQuery, State};
use tributary_functions::{
    cosmos::{Query, Scope, StoreError},
    http::{ApiError, StoredItems, limit_of},
    projection::window::Window,
};

use crate::{Blog, model::PublicPost, projections::NewestPosts};

/// Returns the newest posts, at most 100: one query in one logical partition. The copies in the
/// feed have the public form of posts, so the answer has them unchanged.
pub async fn get_feed(
    State(blog): State<Blog>,
    RawQuery(query): RawQuery,
) -> Result<StoredItems<PublicPost>, ApiError> {
    let limit = limit_of(query.as_deref(), NewestPosts::CAPACITY)?;
    let scope = Scope::Partition(NewestPosts::PARTITION);
    Ok(blog.feed.query(newest(limit)?, scope, limit).await?.into())
}

fn newest(limit: u32) -> Result<Query, StoreError> {
    // The head of the feed and the tombstones have no creation date. The store's own properties of
    // each item would be a third of the result.
    let query = Query::from(
        "SELECT TOP @limit c.id, c.postId, c.userId, c.userUsername, c.title, c.content, \
         c.commentCount, c.likeCount, c.creationDate FROM c WHERE IS_DEFINED(c.creationDate) \
         ORDER BY c.creationDate DESC, c.id DESC",
    );
    Ok(query.with_parameter("@limit", limit)?)
}
