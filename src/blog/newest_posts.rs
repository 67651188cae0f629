//! The newest of all posts, for who fills the feed up and who looks whether it is right.
//!
//! The feed is sorted by date and id. No index is, in all partitions: it would cost every write of
//! `posts`, and posts of one millisecond are rare. So these are asked for in a second query.

use std::cmp::Reverse;

use futures::TryStreamExt;
use serde::de::DeserializeOwned;

use super::model::{FEED_CAPACITY, Member};
use crate::{
    cosmos::{Container, Query, Scope, StoreError},
    values::Timestamp,
};

/// As many of the newest posts as the feed holds, or all when there are fewer: two queries in all
/// partitions. What `read` does not give is left out.
pub(super) async fn newest_posts<D: DeserializeOwned + Send + 'static, T>(
    posts: &Container,
    read: impl Fn(D) -> Option<T>,
    member: impl Fn(&T) -> Member,
) -> Result<Vec<T>, StoreError> {
    let mut newest = all(posts, newest()?, &read).await?;
    if let Some(oldest) = newest.iter().map(|post| member(post).creation_date).min() {
        newest.extend(all(posts, of_one_moment(oldest)?, &read).await?);
    }
    newest.sort_by_cached_key(|post| Reverse(member(post)));
    newest.dedup_by_key(|post| member(post));
    newest.truncate(FEED_CAPACITY);
    Ok(newest)
}

fn newest() -> Result<Query, StoreError> {
    let query = Query::from(
        "SELECT TOP @capacity * FROM c WHERE c.type = 'post' ORDER BY c.creationDate DESC",
    );
    Ok(query.with_parameter("@capacity", FEED_CAPACITY)?)
}

fn of_one_moment(creation_date: Timestamp) -> Result<Query, StoreError> {
    let query = Query::from(
        "SELECT TOP @capacity * FROM c WHERE c.type = 'post' AND c.creationDate = @date \
         ORDER BY c.id DESC",
    );
    Ok(query.with_parameter("@capacity", FEED_CAPACITY)?.with_parameter("@date", creation_date)?)
}

async fn all<D: DeserializeOwned + Send + 'static, T>(
    posts: &Container,
    query: Query,
    read: impl Fn(D) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    #[expect(clippy::cast_possible_truncation, reason = "100")]
    let page = FEED_CAPACITY as u32;
    let mut pages = std::pin::pin!(posts.pages(query, Scope::Container, page).await?);
    let mut found = Vec::new();
    while let Some(page) = pages.try_next().await? {
        found.extend(page.into_iter().filter_map(&read));
    }
    Ok(found)
}
