//! One pass over a sample for all candidates and kinds of requests at once.
//!
//! Items come in batches. Of each item is found out once what does not depend on a candidate: size,
//! charge of a write, time, identity. Then each candidate and each kind of request counts the batch
//! for itself, on all cores. So memory depends on the number of candidates and kinds, and neither on
//! the number of items nor on that of cores; and the same sample gives the same reports.

use std::io::BufRead;

use rayon::prelude::*;
use serde_json::Value;
use tributary_charges::{rates, terms::charge_of};
use tributary_partitioning::{KeyStrategy, path::Path};

use crate::{
    counts::{
        Prepared,
        candidate::Candidate,
        columns::{Columns, Field},
        kind::Kind,
    },
    estimate,
    observed::ObservedReads,
    options::Options,
    report::Report,
    request::RequestKind,
    sample::{self, Item, Progress, SampleError},
    sketch::hash,
    world::World,
};

/// Bytes of what the service adds to an item: `_rid`, `_self`, `_etag`, `_attachments`, `_ts`.
const SYSTEM_BYTES: u64 = 220;

/// An analysis under way.
#[derive(Debug)]
pub struct Analysis {
    candidates: Vec<Candidate>,
    kinds: Vec<Kind>,
    columns: Columns,
    options: Options,
    time: Path,
    /// The number of the property at `time`.
    time_field: usize,
    n_items: u64,
    /// Items of each key of which reads were measured.
    observed_items: Vec<u64>,
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
        let candidates = candidates.into_iter().map(candidate).collect();
        let kind = |request| Kind::new(request, &mut columns);
        let kinds = requests.into_iter().map(kind).collect();
        let time_field = columns.time(&time);
        let n_observed = options.reads.as_ref().map_or(0, ObservedReads::len);
        let observed_items = vec![0; n_observed];
        Self { candidates, kinds, columns, options, time, time_field, n_items: 0, observed_items }
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
        for number in prepared.iter().filter_map(|item| item.observed) {
            self.observed_items[number] += 1;
        }
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
        let world =
            World::new(&self.kinds, &self.options, &self.time, self.n_items, &self.observed_items);
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
        let fields = self.columns.fields(value);
        let identity = self.identity(value, &fields);
        let cluster = self.options.whole_keys.as_ref().map_or(0, |key| hash(&key.key(value).ok()));
        let time = fields[self.time_field].seconds();
        Prepared {
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

    /// Returns the number of the current key of an item, where reads of that were measured.
    fn observed(&self, item: &Value) -> Option<usize> {
        let (reads, current) = self.options.reads.as_ref().zip(self.options.current.as_ref())?;
        reads.number(&current.key(item).ok()?)
    }

    /// Returns what versions of an item have in common: the id that the store gave it, in a sample from a
    /// container. Otherwise its id, its current key, and when it was created, where that is known and is
    /// not the time of the version.
    fn identity(&self, item: &Value, fields: &[Field<'_>]) -> Option<u64> {
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
