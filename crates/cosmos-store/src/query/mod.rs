//! Pages of a query over an engine, and the plans that SDKs ask for.

use crate::{
    Refusal,
    engine::{ContainerId, EpkRange, View},
    json::Json,
    sql::{Parameters, Prepared},
};

pub mod hybrid_row;
pub mod plan;

/// A page of a query.
#[derive(Debug)]
pub struct Page {
    /// The results, as text JSON each.
    pub results: Vec<Vec<u8>>,
    /// Where the next page begins; `None` at the end.
    pub continuation: Option<String>,
    /// What the store touched for it.
    pub work: Work,
}

/// What the store touched for a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Values and ranges that were looked up in an index.
    pub seeks: u32,
    /// Items that were loaded, returned or not.
    pub items_loaded: u32,
    /// Their size.
    pub bytes_loaded: usize,
}

/// What a page is asked for.
pub struct PageRequest<'a> {
    /// The container.
    pub container: ContainerId,
    /// The part of the hash space: that of a logical partition, of a prefix, of a physical partition, or all.
    pub range: EpkRange,
    /// The most results; `None` lets the store choose.
    pub max_items: Option<u32>,
    /// Where the page before has ended.
    pub continuation: Option<&'a str>,
    /// The value and the `_rid` with which an SDK goes on that merges partitions itself.
    pub resume: Option<ResumeFilter>,
}

/// `resumeFilter` of a query request: `{"value": [2], "rid": "…", "exclude": false}`.
#[derive(Clone, Debug)]
pub struct ResumeFilter {
    /// The last values of ORDER BY.
    pub value: Vec<Json>,
    /// The `_rid` of the last item.
    pub rid: Option<String>,
    /// True if that item was returned.
    pub exclude: bool,
}

/// Returns a page: at most 4 MB, and at least one result unless the query has ended.
///
/// # Errors
/// 400 for a continuation that is none, and for an ORDER BY of several properties without its composite index.
pub fn page(view: &View, query: &Prepared, request: &PageRequest<'_>) -> Result<Page, Refusal> {
    let _ = (view, query, request, Parameters::new());
    todo!()
}
