//! The newest of all sources, for the refill of a window and for its audit.
//!
//! A window is sorted by date and id. The sources need no index of both, over all partitions: it
//! would cost every write of theirs, and sources of one millisecond are rare. So a second query asks
//! for those of the oldest millisecond.

use std::cmp::Reverse;

use futures::TryStreamExt;
use serde::de::DeserializeOwned;

use super::{Member, Window};
use crate::cosmos::{Container, Query, Scope, StoreError};

/// Returns as many of the newest sources as the window holds, or all when there are fewer: two
/// queries in all partitions. What `read` does not give is left out.
pub async fn newest<W: Window, D: DeserializeOwned + Send + 'static, T>(
    sources: &Container,
    read: impl Fn(D) -> Option<T>,
    member: impl Fn(&T) -> Member,
) -> Result<Vec<T>, StoreError> {
    let all = async |query| all::<D, T>(sources, query, W::CAPACITY, &read).await;
    let mut newest = all(W::newest(W::CAPACITY)?).await?;
    if let Some(oldest) = newest.iter().map(|source| member(source).creation_date).min() {
        newest.extend(all(W::of_one_moment(oldest, W::CAPACITY)?).await?);
    }
    newest.sort_by_cached_key(|source| Reverse(member(source)));
    newest.dedup_by_key(|source| member(source));
    newest.truncate(W::CAPACITY as usize);
    Ok(newest)
}

async fn all<D: DeserializeOwned + Send + 'static, T>(
    sources: &Container,
    query: Query,
    page: u32,
    read: impl Fn(D) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    let mut pages = std::pin::pin!(sources.pages(query, Scope::Container, page).await?);
    let mut found = Vec::new();
    while let Some(page) = pages.try_next().await? {
        found.extend(page.into_iter().filter_map(&read));
    }
    Ok(found)
}
