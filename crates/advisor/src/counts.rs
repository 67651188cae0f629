//! The counts of a sample: one pass for all candidates and kinds of requests at once. Each of them counts a batch of
//! prepared items for itself, on all cores. So memory depends on their number, and neither on the number of items nor on
//! that of cores; and the same sample gives the same counts.

use cosmos_model::charges::{rates, terms::IndexTerms};
use cosmos_model::partitioning::{KeyStrategy, KeyValue, moment::moment, path::PropertyPath};
use rayon::prelude::*;
use serde_json::Value;

use crate::{ValidationOptions, request::RequestKind, sample::SampleItem, sketch::hash};

pub(crate) mod candidate;
pub(crate) mod request;
pub(crate) mod times;

use candidate::CandidateCounts;
use request::RequestCounts;

/// Bytes of the properties that the service adds to an item: `_rid`, `_self`, `_etag`, `_attachments`, `_ts`.
const SYSTEM_PROPERTY_BYTES: u64 = 220;

#[derive(Debug)]
pub(crate) struct SampleCounts {
    pub(crate) candidates: Vec<CandidateCounts>,
    pub(crate) kinds: Vec<RequestCounts>,
    pub(crate) options: ValidationOptions,
    pub(crate) time: PropertyPath,
    pub(crate) n_items: u64,
    half: Option<u64>,
    n_seen: u64,
}

#[derive(Debug)]
pub(crate) struct PreparedItem<'a> {
    pub(crate) value: &'a Value,
    pub(crate) bytes: u64,
    pub(crate) stored_bytes: u64,
    /// A hash that decides whether the item is among those that stand for all: of its id and time, so that
    /// the order of the items has no effect; of its number where it has no id.
    pub(crate) draw: u64,
    pub(crate) time: Option<i64>,
    /// A hash that items share that were drawn together.
    pub(crate) cluster: u32,
    half: u64,
    pub(crate) read: f64,
    pub(crate) write: f64,
    pub(crate) create: f64,
}

impl SampleCounts {
    pub(crate) fn new(
        candidates: Vec<KeyStrategy>,
        requests: Vec<RequestKind>,
        options: ValidationOptions,
    ) -> Self {
        let time = options.time.clone().unwrap_or_else(|| PropertyPath::from_name("_ts"));
        let candidates = candidates.into_iter().map(CandidateCounts::new).collect();
        let kinds = requests.into_iter().map(RequestCounts::new).collect();
        Self { candidates, kinds, options, time, n_items: 0, half: None, n_seen: 0 }
    }

    pub(crate) fn of_half(self, half: u64) -> Self {
        Self { half: Some(half), ..self }
    }

    pub(crate) fn add(&mut self, items: &[SampleItem]) {
        let first = self.n_seen;
        let this = &*self;
        let numbers = (first..).take(items.len()).collect::<Vec<_>>();
        let prepared: Vec<_> = items
            .par_iter()
            .zip(numbers)
            .with_min_len(64)
            .map(|(item, number)| this.prepared(item, number))
            .filter(|item| this.half.is_none_or(|half| item.half == half))
            .collect();
        self.n_seen += items.len() as u64;
        self.n_items += prepared.len() as u64;
        let kinds = &mut self.kinds;
        let candidates = &mut self.candidates;
        rayon::join(
            || kinds.par_iter_mut().with_max_len(1).for_each(|kind| kind.add(&prepared)),
            || candidates.par_iter_mut().with_max_len(1).for_each(|key| key.add(&prepared)),
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
        let terms = IndexTerms::new(value, &self.options.indexing_policy);
        let cluster = self.options.whole_keys.as_ref().map_or(0, |key| hash(&key.key(value).ok()));
        let time = seconds(value, &self.time);
        let draw = hash(&(id(value), value.get("id").is_none().then_some(number), time));
        let half = if self.options.whole_keys.is_some() { cluster } else { draw };
        PreparedItem {
            value,
            bytes,
            stored_bytes,
            draw,
            half: hash(&half) & 1,
            time,
            #[expect(clippy::cast_possible_truncation, reason = "a part of a hash is one")]
            cluster: cluster as u32,
            read: rates::read(size(stored_bytes)),
            write,
            create: write + terms.charge_without(&IndexTerms::default()),
        }
    }
}

fn seconds(item: &Value, path: &PropertyPath) -> Option<i64> {
    let value = KeyValue::from_property(path.find(item))?;
    Some(moment(&value)?.unix_timestamp())
}

/// Returns what tells an item from the others: the id that the store gave it, or its own.
fn id(item: &Value) -> Option<&str> {
    item.get("_rid").or_else(|| item.get("id"))?.as_str()
}
