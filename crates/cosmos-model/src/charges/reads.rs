//! The request units of queries and feeds.

use crate::charges::rates::{
    self, LOADED_ITEM_RU, LOADED_KB_RU, LOOKUP_RU, QUERY_START_RU, RETURNED_KB_RU, SEEK_RU,
    kilobytes,
};

/// The work of a query, or of one page of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryWork {
    /// Physical partitions in which it started.
    pub partitions: u32,
    /// Values and ranges that were looked up in the index of each.
    pub seeks: u32,
    /// Items that the index passed to the query engine, returned or not.
    pub items_loaded: u32,
    /// Their size.
    pub bytes_loaded: usize,
    /// The size of the result.
    pub bytes_returned: usize,
}

/// Returns the request units of a query or of one page. The pages add up to the query.
pub fn query(work: QueryWork) -> f64 {
    f64::from(work.partitions) * (QUERY_START_RU + f64::from(work.seeks) * SEEK_RU)
        + f64::from(work.items_loaded) * LOADED_ITEM_RU
        + kilobytes(work.bytes_loaded) * LOADED_KB_RU
        + kilobytes(work.bytes_returned) * RETURNED_KB_RU
}

/// Returns the request units of a page of the change feed or of all items: those of point reads of its items, as
/// published. A page without items costs [`LOOKUP_RU`].
pub fn feed(n_items: u32, bytes: usize) -> f64 {
    let mean = bytes / usize::try_from(n_items.max(1)).unwrap_or(usize::MAX);
    (f64::from(n_items) * rates::read(mean)).max(LOOKUP_RU)
}
