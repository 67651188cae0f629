//! The newest of all sources, for the refill of a window and for its audit.
//!
//! A window is sorted by date and id. The sources have no index of both over all partitions: it would make
//! each of their writes dearer, and sources of one millisecond are rare. So a second query asks for the
//! sources of the oldest millisecond.

use std::cmp::Reverse;

use futures::TryStreamExt;
use serde::de::DeserializeOwned;

use super::{Member, Window};
use crate::cosmos::{Container, Query, Scope, StoreError};

const MAX_ROWS_PER_SOURCE: u32 = 4;

/// Returns `wanted` of the newest sources, or all if there are fewer: two queries in all partitions. Rows that
/// are unreadable, or for which `read` returns `None`, are left out, and as many more are queried.
pub async fn newest<W: Window, D: DeserializeOwned + 'static, T>(
    sources: &Container,
    wanted: u32,
    read: impl Fn(D) -> Option<T>,
    member: impl Fn(&T) -> Member,
) -> Result<Vec<T>, StoreError> {
    let found = async |query, rows| found::<D, T>(sources, query, rows, &read).await;
    let mut rows = wanted;
    let mut newest = loop {
        let FoundSources { sources, left_out } = found(W::newest(rows)?, rows).await?;
        let are_all = sources.len() + left_out < rows as usize;
        let needed = wanted.saturating_add(u32::try_from(left_out).unwrap_or(u32::MAX));
        if are_all || needed <= rows || needed > MAX_ROWS_PER_SOURCE * wanted {
            break sources;
        }
        rows = needed;
    };
    if let Some(oldest) = newest.iter().map(|source| member(source).creation_date).min() {
        newest.extend(found(W::created_at(oldest, rows)?, rows).await?.sources);
    }
    newest.sort_by_cached_key(|source| Reverse(member(source)));
    newest.dedup_by_key(|source| member(source));
    newest.truncate(wanted as usize);
    Ok(newest)
}

struct FoundSources<T> {
    sources: Vec<T>,
    left_out: usize,
}

async fn found<D: DeserializeOwned + 'static, T>(
    sources: &Container,
    query: Query,
    page: u32,
    read: impl Fn(D) -> Option<T>,
) -> Result<FoundSources<T>, StoreError> {
    let mut pages = std::pin::pin!(sources.row_pages(query, Scope::Container, page).await?);
    let mut found = FoundSources { sources: Vec::new(), left_out: 0 };
    while let Some(page) = pages.try_next().await? {
        for row in page {
            match row.ok().and_then(&read) {
                Some(source) => found.sources.push(source),
                None => found.left_out += 1,
            }
        }
    }
    Ok(found)
}
