//! One pass over a sample for all candidates and kinds of requests at once.
//!
//! Items come in batches. Of each item is found out once what does not depend on a candidate: size,
//! charge of a write, time, identity. Then each candidate and each kind of request counts the batch
//! for itself, on all cores. So memory depends on the number of candidates and kinds, and neither on
//! the number of items nor on that of cores; and the same sample gives the same reports.

use std::io::BufRead;

use rayon::prelude::*;
use serde_json::Value;
use tributary_charges::{policy::IndexingPolicy, rates, terms::charge_of};
use tributary_partitioning::{KeyStrategy, KeyValue, moment::moment, path::Path};

use crate::{
    estimate::{self, World},
    report::Report,
    request::RequestKind,
    sample::{self, Item, Progress, SampleError},
    sketch::hash,
};

pub(crate) mod candidate;
mod columns;
pub(crate) mod kind;
pub(crate) mod times;

use candidate::Candidate;
use columns::{Cell, Columns};
use kind::Kind;

/// Bytes of what the service adds to an item: `_rid`, `_self`, `_etag`, `_attachments`, `_ts`.
const SYSTEM_BYTES: u64 = 220;

/// What is known beside the sample.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The property that tells when an item was created. Without any `/_ts`, unless all items were
    /// written within a day.
    pub time: Option<Path>,
    /// The partition key that the container has. With the id it tells apart the items of the sample.
    pub current: Option<KeyStrategy>,
    /// Items of the whole container; those of the sample when this is not given.
    pub items_in_container: Option<u64>,
    /// The key of which whole values were drawn, where the sample has fewer items than the container.
    /// Without any, each item was drawn with the same probability.
    pub whole_keys: Option<KeyStrategy>,
    /// New items a day in the container; otherwise the frequencies of what creates, without what deletes.
    pub items_per_day: Option<f64>,
    /// Physical partitions of the container; otherwise as many as its size and its request units need.
    pub physical_partitions: Option<u32>,
    /// Request units a second at the busiest time, over the mean; otherwise that of the writes in the
    /// sample, where they have a time.
    pub peak_over_mean: Option<f64>,
    /// The indexing policy, on which the charge of a write depends: `indexingPolicy` of a container's
    /// definition.
    pub indexing_policy: IndexingPolicy,
}

/// An analysis under way.
#[derive(Debug)]
pub struct Analysis {
    candidates: Vec<Candidate>,
    kinds: Vec<Kind>,
    columns: Columns,
    options: Options,
    time: Path,
    n_items: u64,
}

/// An item, and what does not depend on a candidate.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    pub(crate) value: &'a Value,
    /// The parts of the candidates' keys.
    pub(crate) cells: Vec<Cell>,
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
    /// Request units of its point read.
    pub(crate) read: f64,
    /// Request units of its write without the index.
    pub(crate) write: f64,
    /// Request units of its creation.
    pub(crate) create: f64,
}

/// Reads a sample to its end and returns a report for each candidate, in their order.
///
/// `progress` is called after each batch.
///
/// ```
/// use tributary_partition::{Options, validate};
///
/// let items = "{\"id\": \"1\", \"userId\": \"ada\"}\n{\"id\": \"2\", \"userId\": \"bob\"}\n";
/// let candidates = vec!["/userId".parse()?];
/// let reports = validate(items.as_bytes(), vec![], candidates, Options::default(), |_| {})?;
/// assert_eq!(reports[0].cardinality.value, 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn validate(
    sample: impl BufRead,
    requests: Vec<RequestKind>,
    candidates: Vec<KeyStrategy>,
    options: Options,
    mut progress: impl FnMut(Progress),
) -> Result<Vec<Report>, SampleError> {
    let mut analysis = Analysis::new(candidates, requests, options);
    sample::read(sample, |items, so_far| {
        analysis.add(items);
        progress(so_far);
    })?;
    Ok(analysis.finish())
}

impl Analysis {
    /// Begins an analysis.
    pub fn new(candidates: Vec<KeyStrategy>, requests: Vec<RequestKind>, options: Options) -> Self {
        let time = options.time.clone().unwrap_or_else(|| Path::of("_ts"));
        let mut columns = Columns::default();
        let candidate = |strategy| Candidate::new(strategy, &mut columns);
        Self {
            candidates: candidates.into_iter().map(candidate).collect(),
            kinds: requests.into_iter().map(Kind::new).collect(),
            columns,
            options,
            time,
            n_items: 0,
        }
    }

    /// Sets the number of items in the container, where it is known only after the sample.
    pub fn set_items_in_container(&mut self, items: Option<u64>) {
        self.options.items_in_container = items;
    }

    /// Adds items, on all cores.
    pub fn add(&mut self, items: &[Item]) {
        let (first, this) = (self.n_items, &*self);
        let numbers = (first..).take(items.len()).collect::<Vec<_>>();
        let prepared: Vec<_> = items
            .par_iter()
            .zip(numbers)
            .with_min_len(64)
            .map(|(item, number)| this.prepared(item, number))
            .collect();
        self.n_items += items.len() as u64;
        rayon::join(
            || self.kinds.par_iter_mut().with_max_len(1).for_each(|kind| kind.add(&prepared)),
            || self.candidates.par_iter_mut().with_max_len(1).for_each(|one| one.add(&prepared)),
        );
    }

    /// Returns a report for each candidate, in their order.
    pub fn finish(self) -> Vec<Report> {
        self.reports(true)
    }

    /// Returns the reports, and whether random halves of a sample say the same only where asked for.
    pub(crate) fn reports(self, resampled: bool) -> Vec<Report> {
        let world = World::new(&self.kinds, &self.options, &self.time, self.n_items);
        let candidates = self.candidates.par_iter().with_max_len(1);
        let mut reports: Vec<_> =
            candidates.map(|candidate| estimate::report(candidate, &world)).collect();
        if resampled {
            estimate::resample(&self.candidates, &world, &mut reports);
        }
        reports.into_iter().map(|(report, _)| report).collect()
    }

    fn prepared<'a>(&self, item: &'a Item, number: u64) -> Prepared<'a> {
        let value = &item.value;
        let bytes = item.bytes as u64;
        let has_system = value.get("_etag").is_some();
        let body_bytes = if has_system { bytes.saturating_sub(SYSTEM_BYTES) } else { bytes };
        let stored_bytes = if has_system { bytes } else { bytes + SYSTEM_BYTES };
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let write = rates::write(size(body_bytes));
        let identity = self.identity(value);
        let cluster = self.options.whole_keys.as_ref().map_or(0, |key| hash(&key.key(value).ok()));
        let time = time_of(&self.time, value);
        Prepared {
            value,
            cells: self.columns.cells(value),
            bytes,
            stored_bytes,
            draw: identity.map_or_else(|| hash(&number), |identity| hash(&(identity, time))),
            time,
            #[expect(clippy::cast_possible_truncation, reason = "a part of a hash is one")]
            cluster: cluster as u32,
            identity,
            read: rates::read(size(stored_bytes)),
            write,
            create: write + charge_of(value, &self.options.indexing_policy),
        }
    }

    /// Returns what versions of an item have in common: the id that the store gave it, in a sample from a
    /// container. Otherwise its id, its current key, and when it was created, where that is known and is
    /// not the time of the version.
    fn identity(&self, item: &Value) -> Option<u64> {
        if let Some(rid) = item.get("_rid").and_then(Value::as_str) {
            return Some(hash(rid));
        }
        let id = item.get("id")?.as_str()?;
        let key = self.options.current.as_ref().map(|current| current.key(item).ok());
        let created = self.options.time.as_ref().filter(|time| **time != Path::of("_ts"));
        let created = created.map(|time| time.find(item).map(Value::to_string));
        Some(hash(&(id, key, created)))
    }
}

/// Returns the seconds since 1970 of the time at `path`.
pub(crate) fn time_of(path: &Path, item: &Value) -> Option<i64> {
    let value = KeyValue::of(path.find(item)).ok()?;
    Some(moment(&value)?.unix_timestamp())
}
