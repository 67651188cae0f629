//! An item of the sample, prepared once for all candidates and kinds of requests.

use serde_json::Value;

use super::columns::{ItemField, KeyCell};

/// An item, and what does not depend on a candidate.
#[derive(Debug)]
pub(crate) struct PreparedItem<'a> {
    pub(crate) value: &'a Value,
    /// The properties that keys and requests name.
    pub(crate) fields: Vec<ItemField<'a>>,
    /// The parts of the candidates' keys.
    pub(crate) cells: Vec<KeyCell>,
    /// Its size as it is in the sample.
    pub(crate) bytes: u64,
    /// Its size with the system's properties: that of an answer.
    pub(crate) stored_bytes: u64,
    /// A hash that chooses it or not where some items stand for all: of its identity and time, so that
    /// the order of the items decides nothing; of its number where it has no id.
    pub(crate) draw: u64,
    /// When it was written, in seconds since 1970.
    pub(crate) time: Option<i64>,
    /// The same for items that were drawn together.
    pub(crate) cluster: u32,
    /// The same for versions of one item. `None` without an id.
    pub(crate) identity: Option<u64>,
    /// The number of its current key, where reads of that were measured.
    pub(crate) observed: Option<usize>,
    /// Request units of its point read.
    pub(crate) read: f64,
    /// Request units of its write without the index.
    pub(crate) write: f64,
    /// Request units of its creation.
    pub(crate) create: f64,
}
