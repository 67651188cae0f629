//! The estimates and findings of a candidate: plain data, for tables, JSON and charts.

use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};
use serde::Serialize;

use crate::request::RequestOperation;

/// The report on a candidate: the effect of its key on the items and requests of the sample, and the findings about it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateReport {
    /// The candidate.
    pub strategy: KeyStrategy,
    /// Items of the sample.
    pub items: u64,
    /// Their size as JSON, in bytes.
    pub bytes: u64,
    /// Logical partitions.
    pub cardinality: EstimatedNumber,
    /// Items of each logical partition.
    pub by_items: Distribution,
    /// Bytes of each logical partition.
    pub by_bytes: Distribution,
    /// Request units a day of each logical partition, when there are requests with a frequency.
    pub by_request_units: Option<Distribution>,
    /// The growth of the logical partitions to their limits.
    pub growth: PartitionGrowth,
    /// Each kind of request, in the order of the input.
    pub requests: Vec<RequestEstimates>,
    /// Physical partitions of the container: given, or the number that its size and the peak need.
    pub physical_partitions: f64,
    /// Request units a day of all requests with a frequency.
    pub request_units_per_day: EstimatedNumber,
    /// Share of the requests, weighted by frequency, that name the key of one logical partition, or the
    /// first levels of a hierarchical key. Creates are not counted. `None` without requests.
    pub aligned: Option<f64>,
    /// Share of the queries, weighted by frequency, that visit all physical partitions. `None` without
    /// queries.
    pub cross_partition: Option<f64>,
    /// The times of the items, when they have one.
    pub times: Option<CreationTimes>,
    /// The concentration of writes in one logical partition, when the items have a time of creation.
    pub hotness: Option<WriteHotness>,
    /// The defects of the keys of single items.
    pub keys: KeyDefects,
    /// The costs of the risks of the key, beside its requests.
    pub risks: Vec<KeyRisk>,
    /// Anti-patterns and failed checks, the gravest first.
    pub findings: Vec<Finding>,
    /// The limits of the data, as sentences.
    pub unknown: Vec<String>,
}

impl CandidateReport {
    /// Returns the distribution of the request units; of the items, without requests.
    pub(crate) fn by_load(&self) -> &Distribution {
        self.by_request_units.as_ref().unwrap_or(&self.by_items)
    }

    pub(crate) fn has_frequency(&self) -> bool {
        self.requests.iter().any(|request| request.per_day.is_some())
    }

    /// Returns the request units a day of the reads, or of the writes, with a frequency.
    pub(crate) fn request_units(&self, of_reads: bool) -> f64 {
        let requests = self.requests.iter().filter(|r| r.operation.is_read() == of_reads);
        requests.filter_map(|request| request.request_units_per_day).sum()
    }

    /// Returns the codes of all warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &'static str> {
        let warnings = self.findings.iter().filter(|finding| finding.severity == Severity::Warning);
        warnings.map(|finding| finding.code)
    }
}

/// A number that is exact, or estimated between two bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EstimatedNumber {
    /// The number.
    pub value: f64,
    /// True when the number is exact. Then both bounds are the number.
    pub exact: bool,
    /// The true number is hardly below this (two standard deviations, or the error of the model).
    pub low: f64,
    /// The true number is hardly above this.
    pub high: f64,
}

/// The distribution of items, bytes or request units over the logical partitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// The Gini coefficient: 0 when all partitions have the same, near 1 when one has all.
    pub gini: f64,
    /// The share of the partition that has the most.
    pub largest: f64,
    /// The mean of a partition, in the unit of the distribution.
    pub mean: f64,
    /// The partitions with the most, at most ten, with their shares.
    pub top: Vec<KeyShare>,
    /// The Lorenz curve: the share of partitions, smallest first, and the share that they have
    /// together. From (0, 0) to (1, 1), at most 101 points.
    pub curve: Vec<(f64, f64)>,
}

impl Distribution {
    pub(crate) fn largest_key(&self) -> String {
        self.top.first().map(|top| top.key.clone()).unwrap_or_default()
    }
}

/// A logical partition and its share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyShare {
    /// The key as the service takes it: a JSON array of the values of its levels.
    pub key: String,
    /// Its share, from 0 to 1.
    pub share: f64,
}

/// The growth of the largest and the busiest logical partition to a limit of the service.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionGrowth {
    /// New items a day in the container: stated, or the sum of the frequencies of creates less deletes.
    pub items_per_day: Option<f64>,
    /// The size of the largest logical partition in the container, in bytes.
    pub largest_bytes: f64,
    /// The same in a year; with a period in the key, at the end of the period.
    pub largest_bytes_in_a_year: f64,
    /// The container in a year over that of now, where the growth and its number of items are given.
    pub growth_in_a_year: Option<f64>,
    /// Days until the largest logical partition has 20 GB. `None` when it never has, or when the growth is
    /// unknown.
    pub days_to_20_gb: Option<f64>,
    /// Request units a second of the busiest logical partition, at the peak.
    pub busiest_request_units_per_second: Option<f64>,
    /// Days until the busiest needs 10,000, when requests grow as the items do. `None` when it never does, or
    /// when the growth or the number of items in the container was not given.
    pub days_to_10_000_ru: Option<f64>,
    /// True when a period in the key ends the growth of each logical partition.
    pub ends_with_period: bool,
}

/// The part of the partition key that a request names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamedLevels {
    /// Nothing.
    #[default]
    No,
    /// Several keys, such as those of a time, or the first levels of several.
    Several,
    /// The first levels of a hierarchical key: the store asks the physical partitions that hold them.
    FirstLevels,
    /// The key of one logical partition.
    Key,
}

impl NamedLevels {
    /// Returns true if the items are in one logical partition, or in neighbours.
    pub fn is_one_place(self) -> bool {
        self >= Self::FirstLevels
    }
}

/// The costs of a kind of request.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestEstimates {
    /// Its name.
    pub kind: String,
    /// Requests a day. `None` when they were not given.
    pub per_day: Option<f64>,
    /// The part of the key that it names.
    pub names: NamedLevels,
    /// Logical partitions that it reads from or writes to; all of them for a fan-out.
    pub logical_partitions: f64,
    /// Store requests that begin in a physical partition: one for each key that is named, and one for
    /// each physical partition of a fan-out.
    pub physical_partitions: f64,
    /// Items that it loads.
    pub items_loaded: f64,
    /// Request units of one.
    pub request_units: f64,
    /// Request units a day.
    pub request_units_per_day: Option<f64>,
    /// True when the writes of a transaction are in one logical partition. `None` for other requests.
    pub transaction_fits: Option<bool>,
    #[serde(skip)]
    pub(crate) operation: RequestOperation,
    /// The property of the key that it changes.
    #[serde(skip)]
    pub(crate) changes: Option<PropertyPath>,
    #[serde(skip)]
    pub(crate) is_query: bool,
    #[serde(skip)]
    pub(crate) fans_out: bool,
    #[serde(skip)]
    pub(crate) charge_of_a_load: f64,
}

/// Returns the sum of `of` over the requests a day; over one of each kind where no frequency is known.
pub(crate) fn sum(requests: &[RequestEstimates], of: impl Fn(&RequestEstimates) -> f64) -> f64 {
    let any = requests.iter().any(|request| request.per_day.is_some());
    let number =
        |request: &RequestEstimates| request.per_day.unwrap_or(if any { 0.0 } else { 1.0 });
    requests.iter().map(|request| of(request) * number(request)).sum()
}

/// The times of creation of the items.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreationTimes {
    /// The property.
    pub path: String,
    /// The oldest time that is no outlier, as RFC 3339.
    pub oldest: String,
    /// The newest time that is no outlier, as RFC 3339.
    pub newest: String,
    /// Items with an outlier.
    pub left_out: u64,
    /// True when these can be times of creation. The service's own are not, after an import or a copy.
    pub are_of_creation: bool,
}

/// The concentration of writes in one logical partition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteHotness {
    /// The length of the window in seconds: the shortest of 60, 3,600 and 86,400 in which the busiest window has
    /// enough writes for a share.
    pub window_seconds: u32,
    /// The start of the busiest window, as RFC 3339.
    pub busiest: String,
    /// Writes of the sample in it.
    pub writes: u64,
    /// The share of these writes in one logical partition.
    pub share: f64,
    /// That partition.
    pub key: String,
    /// The writes of the busiest window over those of a mean window.
    pub peak_over_mean: f64,
}

/// The defects of the keys of single items, in items of the sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyDefects {
    /// Items that lack a property of the key.
    pub missing: u64,
    /// Items in which a property of the key is `null`.
    pub null: u64,
    /// Items in which a property of the key is an object or an array.
    pub not_scalar: u64,
    /// Items in which a property is no time, where the key has its period.
    pub not_a_time: u64,
    /// Items whose key is longer than the service allows, 2,048 bytes.
    pub too_long: u64,
}

/// A risk, in request units a day beside those of the requests. Without any frequency, in those of one
/// request of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRisk {
    /// The finding that names it, such as `hot-partition`.
    pub code: &'static str,
    /// Its costs.
    pub request_units: f64,
}

/// An anti-pattern or a failed check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Its name in kebab case, such as `hot-partition`.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The threshold.
    pub threshold: f64,
    /// The measured number.
    pub measured: f64,
    /// The source of the threshold: a section of the guide, or a limit of the service.
    pub source: &'static str,
    /// The problem and the remedy, in plain sentences.
    pub sentence: String,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// A finding that does no harm at the stated size and growth.
    Notice,
    /// A finding that costs or fails, or may by the data.
    Warning,
}
