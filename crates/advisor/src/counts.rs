//! The counts of a sample: one pass for all candidates and kinds of requests at once.
//!
//! Items come in batches. Each item is prepared once, as far as no candidate matters: size, charge of a
//! write, time, identity. Then each candidate and each kind of request counts the batch for itself, on all
//! cores. So memory depends on the number of candidates and kinds, and neither on the number of items nor
//! on that of cores; and the same sample gives the same counts.

use cosmos_model::charges::{rates, terms::charge_of};
use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};
use rayon::prelude::*;
use serde_json::Value;

use crate::{
    observed::ObservedReads, options::ValidationOptions, request::RequestKind, sample::SampleItem,
    sketch::hash,
};

pub(crate) mod candidate;
pub(crate) mod columns;
pub(crate) mod prepared;
pub(crate) mod request;
pub(crate) mod times;

use candidate::CandidateCounts;
use columns::{ItemField, KeyColumns};
use prepared::PreparedItem;
use request::RequestCounts;

/// Bytes of the properties that the service adds to an item: `_rid`, `_self`, `_etag`, `_attachments`, `_ts`.
const SYSTEM_PROPERTY_BYTES: u64 = 220;

/// The counts of a sample.
#[derive(Debug)]
pub struct SampleCounts {
    pub(crate) candidates: Vec<CandidateCounts>,
    pub(crate) kinds: Vec<RequestCounts>,
    columns: KeyColumns,
    pub(crate) options: ValidationOptions,
    /// The property with the time of creation.
    pub(crate) time: PropertyPath,
    /// The number of the property at `time`.
    time_field: usize,
    pub(crate) n_items: u64,
    /// The items of each key with measured reads.
    pub(crate) observed_items: Vec<u64>,
}

impl SampleCounts {
    /// Creates counts without items.
    pub fn new(
        candidates: Vec<KeyStrategy>,
        requests: Vec<RequestKind>,
        options: ValidationOptions,
    ) -> Self {
        let time = options.time.clone().unwrap_or_else(|| PropertyPath::from_name("_ts"));
        let mut columns = KeyColumns::default();
        let candidate = |strategy| CandidateCounts::new(strategy, &mut columns);
        let candidates = candidates.into_iter().map(candidate).collect();
        let kind = |request| RequestCounts::new(request, &mut columns);
        let kinds = requests.into_iter().map(kind).collect();
        let time_field = columns.time(&time);
        let n_observed = options.reads.as_ref().map_or(0, ObservedReads::len);
        let observed_items = vec![0; n_observed];
        Self { candidates, kinds, columns, options, time, time_field, n_items: 0, observed_items }
    }

    /// Sets the number of items in the container, where the scan tells it at its end.
    pub fn set_items_in_container(&mut self, items: Option<u64>) {
        self.options.items_in_container = items;
    }

    /// Counts items, on all cores.
    pub fn add(&mut self, items: &[SampleItem]) {
        let first = self.n_items;
        let this = &*self;
        let numbers = (first..).take(items.len()).collect::<Vec<_>>();
        let prepared: Vec<_> = items
            .par_iter()
            .zip(numbers)
            .with_min_len(64)
            .map(|(item, number)| this.prepared(item, number))
            .collect();
        self.n_items += items.len() as u64;
        for number in prepared.iter().filter_map(|item| item.observed) {
            self.observed_items[number] += 1;
        }
        rayon::join(
            || self.kinds.par_iter_mut().with_max_len(1).for_each(|kind| kind.add(&prepared)),
            || self.candidates.par_iter_mut().with_max_len(1).for_each(|one| one.add(&prepared)),
        );
    }

    fn prepared<'a>(&self, item: &'a SampleItem, number: u64) -> PreparedItem<'a> {
        let value = &item.value;
        let bytes = item.bytes as u64;
        let has_system = value.get("_etag").is_some();
        let body_bytes =
            if has_system { bytes.saturating_sub(SYSTEM_PROPERTY_BYTES) } else { bytes };
        let stored_bytes = if has_system { bytes } else { bytes + SYSTEM_PROPERTY_BYTES };
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let write = rates::write(size(body_bytes));
        let fields = self.columns.fields(value);
        let identity = self.identity(value, &fields);
        let cluster = self.options.whole_keys.as_ref().map_or(0, |key| hash(&key.key(value).ok()));
        let time = fields[self.time_field].seconds();
        PreparedItem {
            value,
            cells: self.columns.cells(&fields),
            fields,
            bytes,
            stored_bytes,
            draw: identity.map_or_else(|| hash(&number), |identity| hash(&(identity, time))),
            time,
            #[expect(clippy::cast_possible_truncation, reason = "a part of a hash is one")]
            cluster: cluster as u32,
            identity,
            observed: self.observed(value),
            read: rates::read(size(stored_bytes)),
            write,
            create: write + charge_of(value, &self.options.indexing_policy),
        }
    }

    /// Returns the number of an item's current key, where reads of the key were measured.
    fn observed(&self, item: &Value) -> Option<usize> {
        let (reads, current) = self.options.reads.as_ref().zip(self.options.current.as_ref())?;
        reads.number(&current.key(item).ok()?)
    }

    /// Returns a hash that all versions of an item share: of the id that the store gave it, in a sample from a
    /// container. Otherwise of its id, its current key, and its time of creation, where that is known and is
    /// not the time of the version.
    fn identity(&self, item: &Value, fields: &[ItemField<'_>]) -> Option<u64> {
        if let Some(rid) = item.get("_rid").and_then(Value::as_str) {
            return Some(hash(rid));
        }
        let id = item.get("id")?.as_str()?;
        let key = self.options.current.as_ref().map(|current| current.key(item).ok());
        let is_creation = self.options.time.is_some() && self.time.names() != ["_ts"];
        let created = is_creation.then(|| fields[self.time_field].value);
        Some(hash(&(id, key, created)))
    }
}
