//! The estimates and findings of a candidate: plain data, for tables, JSON and charts.

use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};
use serde::Serialize;

use crate::request::RequestOperation;

/// The report on a candidate: the effect of its key on the items and requests of the sample, and the findings about it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateReport {
    pub(crate) strategy: KeyStrategy,
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    pub(crate) cardinality: EstimatedNumber,
    pub(crate) by_items: Distribution,
    pub(crate) by_bytes: Distribution,
    pub(crate) by_request_units: Option<Distribution>,
    pub(crate) growth: PartitionGrowth,
    pub(crate) requests: Vec<RequestEstimates>,
    pub(crate) physical_partitions: f64,
    pub(crate) request_units_per_day: EstimatedNumber,
    /// The share of the requests that name the key, or the first levels of one. Creates are not counted.
    pub(crate) aligned: Option<f64>,
    /// The share of the queries that visit all physical partitions.
    pub(crate) cross_partition: Option<f64>,
    pub(crate) times: Option<CreationTimes>,
    pub(crate) hotness: Option<WriteHotness>,
    pub(crate) keys: KeyDefects,
    pub(crate) risks: Vec<KeyRisk>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) unknown: Vec<String>,
}

impl CandidateReport {
    pub(crate) fn by_load(&self) -> &Distribution {
        self.by_request_units.as_ref().unwrap_or(&self.by_items)
    }

    pub(crate) fn has_frequency(&self) -> bool {
        self.requests.iter().any(|request| request.per_day.is_some())
    }

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct EstimatedNumber {
    pub(crate) value: f64,
    /// True when the number is exact. Then both bounds are the number.
    pub(crate) exact: bool,
    /// The true number is hardly below this (two standard deviations, or the error of the model).
    pub(crate) low: f64,
    pub(crate) high: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Distribution {
    pub(crate) gini: f64,
    pub(crate) largest: f64,
    pub(crate) mean: f64,
    pub(crate) top: Vec<KeyShare>,
    /// The Lorenz curve, from (0, 0) to (1, 1), at most 101 points.
    pub(crate) curve: Vec<(f64, f64)>,
}

impl Distribution {
    pub(crate) fn largest_key(&self) -> String {
        self.top.first().map(|top| top.key.clone()).unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct KeyShare {
    /// The key as the service takes it: a JSON array of the values of its levels.
    pub(crate) key: String,
    pub(crate) share: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitionGrowth {
    pub(crate) items_per_day: Option<f64>,
    pub(crate) largest_bytes: f64,
    /// The same in a year; with a period in the key, at the end of the period.
    pub(crate) largest_bytes_in_a_year: f64,
    /// The container in a year over that of now, where the growth and its number of items are given.
    pub(crate) growth_in_a_year: Option<f64>,
    /// `None` when it never has, or when the growth is unknown.
    pub(crate) days_to_20_gb: Option<f64>,
    pub(crate) busiest_request_units_per_second: Option<f64>,
    /// When requests grow as the items do. `None` without the growth or the number of items in the container.
    pub(crate) days_to_10_000_ru: Option<f64>,
    pub(crate) ends_with_period: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NamedLevels {
    #[default]
    No,
    /// Several keys, such as those of a time, or the first levels of several.
    Several,
    /// The first levels of a hierarchical key: the store asks the physical partitions that hold them.
    FirstLevels,
    Key,
}

impl NamedLevels {
    pub(crate) fn is_one_place(self) -> bool {
        self >= Self::FirstLevels
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RequestEstimates {
    pub(crate) kind: String,
    pub(crate) per_day: Option<f64>,
    pub(crate) names: NamedLevels,
    pub(crate) logical_partitions: f64,
    /// Store requests: one for each key that is named, or for each physical partition of a fan-out.
    pub(crate) physical_partitions: f64,
    pub(crate) items_loaded: f64,
    pub(crate) request_units: f64,
    pub(crate) request_units_per_day: Option<f64>,
    /// True when the writes of a transaction are in one logical partition. `None` for other requests.
    pub(crate) transaction_fits: Option<bool>,
    #[serde(skip)]
    pub(crate) operation: RequestOperation,
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

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreationTimes {
    pub(crate) path: String,
    pub(crate) oldest: String,
    pub(crate) newest: String,
    pub(crate) left_out: u64,
    /// True when these can be times of creation. The service's own are not, after an import or a copy.
    pub(crate) are_of_creation: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WriteHotness {
    /// The shortest of 60, 3,600 and 86,400 in which the busiest window has enough writes for a share.
    pub(crate) window_seconds: u32,
    pub(crate) busiest: String,
    pub(crate) writes: u64,
    pub(crate) share: f64,
    pub(crate) key: String,
    pub(crate) peak_over_mean: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyDefects {
    pub(crate) missing: u64,
    pub(crate) null: u64,
    pub(crate) not_scalar: u64,
    pub(crate) not_a_time: u64,
    pub(crate) too_long: u64,
}

/// A day, beside those of the requests; without any frequency, in those of one request of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyRisk {
    pub(crate) code: &'static str,
    pub(crate) request_units: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    pub(crate) code: &'static str,
    pub(crate) severity: Severity,
    pub(crate) threshold: f64,
    pub(crate) measured: f64,
    pub(crate) source: &'static str,
    pub(crate) sentence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Severity {
    /// A finding that does no harm at the stated size and growth.
    Notice,
    /// A finding that costs or fails, or may by the data.
    Warning,
}
