//! An item of the sample, prepared once for all candidates and kinds of requests.

use serde_json::Value;

use super::columns::{ItemField, KeyCell};

/// An item and its properties that depend on no candidate.
#[derive(Debug)]
pub(crate) struct PreparedItem<'a> {
    pub(crate) value: &'a Value,
    /// The properties that keys and requests name.
    pub(crate) fields: Vec<ItemField<'a>>,
    /// The parts of the candidates' keys.
    pub(crate) cells: Vec<KeyCell>,
    /// The size in the sample.
    pub(crate) bytes: u64,
    /// The size with the system's properties: that of an answer.
    pub(crate) stored_bytes: u64,
    /// A hash that decides whether the item is among those that stand for all: of its identity and time, so
    /// that the order of the items has no effect; of its number where it has no id.
    pub(crate) draw: u64,
    /// The time of creation, in seconds since 1970.
    pub(crate) time: Option<i64>,
    /// A hash that items share that were drawn together.
    pub(crate) cluster: u32,
    /// A hash that versions of one item share. `None` without an id.
    pub(crate) identity: Option<u64>,
    /// The number of its current key, where reads of the key were measured.
    pub(crate) observed: Option<usize>,
    /// Request units of its point read.
    pub(crate) read: f64,
    /// Request units of its write without the index.
    pub(crate) write: f64,
    /// Request units of its creation.
    pub(crate) create: f64,
}
