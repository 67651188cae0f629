//! Pages of a query over an engine, and the plans that SDKs ask for.

use crate::{
    engine::{ContainerId, Definition, EpkRange, Item},
    json::Json,
};

mod access;
mod conditions;
mod container;
mod continuation;
mod evaluate;
mod keys;
mod order;
mod page;
pub(crate) mod plan;
mod rank;

#[cfg(test)]
mod tests;

pub(crate) use page::page;

#[derive(Debug)]
pub(crate) struct Page {
    /// The results, as text JSON each.
    pub results: Vec<Vec<u8>>,
    /// Where the next page begins; `None` at the end.
    pub continuation: Option<String>,
    /// What the store touched for it.
    pub work: Work,
    /// An index that would have saved much of that work: for [`crate::engine::Engine::build_index`].
    pub wanted: Option<WantedIndex>,
}

/// The names of the properties on a path.
pub(crate) type Path = Vec<String>;

/// An index that a query could use, and that is not there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedIndex {
    /// Its paths, in its order.
    pub paths: Vec<Path>,
    /// True for an index within each logical partition.
    pub within_logical_partition: bool,
}

/// What the store touched for a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Items that were loaded, returned or not.
    pub items_loaded: u32,
    /// Their size.
    pub bytes_loaded: usize,
    /// Items that pass the filter, of those that the page is made of: the same with an index and without.
    pub items_matched: u32,
    /// Their size.
    pub bytes_matched: usize,
}

pub(crate) struct PageRequest<'a> {
    /// The container.
    pub container: ContainerId,
    /// Its definition.
    pub definition: &'a Definition,
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
pub(crate) struct ResumeFilter {
    /// The last values of ORDER BY.
    pub value: Vec<Json>,
    /// The `_rid` of the last item.
    pub rid: Option<String>,
    /// True if that item was returned.
    pub exclude: bool,
}

impl Work {
    fn load(&mut self, item: &Item) {
        self.items_loaded = self.items_loaded.saturating_add(1);
        self.bytes_loaded = self.bytes_loaded.saturating_add(item.body.len());
    }

    fn take(&mut self, item: &Item) {
        self.items_matched = self.items_matched.saturating_add(1);
        self.bytes_matched = self.bytes_matched.saturating_add(item.body.len());
    }
}
