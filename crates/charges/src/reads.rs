//! What queries and feeds cost.

use crate::rates::{self, LOAD, LOAD_KB, LOOK, QUERY, RETURN_KB, SEEK, kilobytes};

/// What a query did, or one page of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryWork {
    /// Physical partitions that it began in.
    pub partitions: u32,
    /// Values and ranges looked up in the index of each.
    pub seeks: u32,
    /// Items that the index handed to the query engine, whatever became of them.
    pub items_loaded: u32,
    /// Their size.
    pub bytes_loaded: usize,
    /// The size of the result.
    pub bytes_returned: usize,
}

/// Returns the request units of a query, or of a page of one: pages add up to the whole.
pub fn query(work: QueryWork) -> f64 {
    f64::from(work.partitions) * (QUERY + f64::from(work.seeks) * SEEK)
        + f64::from(work.items_loaded) * LOAD
        + kilobytes(work.bytes_loaded) * LOAD_KB
        + kilobytes(work.bytes_returned) * RETURN_KB
}

/// Returns the request units of a page of the change feed or of all items: as the point reads of its items, as published. A
/// page without items costs a look.
pub fn feed(n_items: u32, bytes: usize) -> f64 {
    let mean = bytes / usize::try_from(n_items.max(1)).unwrap_or(usize::MAX);
    (f64::from(n_items) * rates::read(mean)).max(LOOK)
}
