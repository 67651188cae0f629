//! The partitions of a live container: their sizes and their use.
//!
//! A scan counts the items in [`SampleCounts`] for the container's own key. Telemetry has the requests: the
//! handler's lines, or exports of the diagnostic tables. Together they are the partitioning guide's
//! `PartitionMetrics` (its section "Partition Metrics Monitoring").
//!
//! The handler names partitions by hashes of their keys. The scan finds the keys behind the hashes.
//!
//! [`SampleCounts`]: crate::SampleCounts

use serde::Serialize;

use crate::{
    checks::{
        ALERTS_SOURCE, CROSS_PARTITION_QUERIES, HOT_PARTITION, HOT_SHARE, LARGE_PARTITION,
        LARGE_PARTITION_BYTES, LOW_CARDINALITY, MAX_CROSS_PARTITION_SHARE, SKEWED_GINI,
    },
    limits::GB,
    report::{CandidateEstimates, CandidateReport, Finding, Severity},
    words::percent,
};

mod connection;
mod draw;
mod endings;
mod names;
mod scan;
mod telemetry;
mod text;
mod windows;

pub use connection::{ConnectionError, connect};
pub use draw::{
    DrawSettings, DrawUnit, DrawnSample, DroppedPortions, MIN_REQUEST_UNITS, SampleStep,
};
pub use scan::{ContainerScan, LiveContainer, ScanLimits};
pub use telemetry::{RequestTelemetry, TelemetryError};

/// The check of the evenness of the request units over the logical partitions.
pub const SKEWED_REQUESTS: &str = "skewed-requests";

/// The number of partitions below which a Gini coefficient says little, and the number of queries below which
/// a share of them says little. The alerts of Tributary's `infra/` have the same bounds.
const MIN_SKEW_PARTITIONS: f64 = 10.0;
const MIN_RATE_QUERIES: u64 = 20;

/// The request units below which one partition always has a large share: those of a logical partition in a
/// tenth of a second.
const MIN_SHARE_REQUEST_UNITS: f64 = 1_000.0;

/// The state of a container's partitions: the guide's `PartitionMetrics`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionMetrics {
    /// The end of the scan, as RFC 3339.
    pub at: String,
    /// The database.
    pub database: String,
    /// The container.
    pub container: String,
    /// The paths of its partition key.
    pub partition_key: Vec<String>,
    /// The items that were read, and their costs.
    pub scan: ContainerScan,
    /// Logical partitions that use the most request units, the hottest first. Empty without telemetry.
    pub hot_partitions: Vec<HotPartition>,
    /// Logical partitions that hold the most bytes, the largest first.
    pub largest_partitions: Vec<PartitionSize>,
    /// The mean size of a logical partition, in bytes as JSON.
    pub average_partition_size: f64,
    /// The share of queries that name no partition key. `None` where telemetry does not tell.
    pub cross_partition_query_rate: Option<f64>,
    /// Gini coefficients.
    pub skew: PartitionSkew,
    /// The measured requests. `None` without telemetry.
    pub telemetry: Option<RequestTelemetry>,
    /// The findings, the gravest first.
    pub findings: Vec<Finding>,
    /// The limits of scan and telemetry, as sentences.
    pub unknown: Vec<String>,
    /// The report on the container's key, from the items.
    pub items: CandidateReport,
}

/// A logical partition and its use.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HotPartition {
    /// Its name in the telemetry.
    pub name: String,
    /// Its key as a JSON array, where the scan has found it.
    pub key: Option<String>,
    /// Its request units.
    pub request_units: f64,
    /// Its share of all request units of the container.
    pub share: f64,
}

/// A logical partition and its size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionSize {
    /// Its key as a JSON array.
    pub key: String,
    /// Bytes of its items as JSON, or the store's own size. For a sample across the container, those of the
    /// whole container.
    pub bytes: f64,
    /// True when the size is that of the store.
    pub is_of_the_store: bool,
}

/// The Gini coefficients over logical partitions: 0 when all have the same, near 1 when one has all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionSkew {
    /// Of the items.
    pub items: f64,
    /// Of the bytes.
    pub bytes: f64,
    /// Of the request units.
    pub request_units: Option<f64>,
}

impl PartitionMetrics {
    /// Returns the metrics of a container by a scan and telemetry.
    pub fn new(
        container: &LiveContainer,
        scan: ContainerScan,
        items: CandidateReport,
        telemetry: Option<RequestTelemetry>,
    ) -> Self {
        let told = telemetry.as_ref();
        let skew = PartitionSkew {
            items: items.estimates.by_items.gini,
            bytes: items.estimates.by_bytes.gini,
            request_units: told.and_then(RequestTelemetry::gini),
        };
        let mut metrics = Self {
            at: now(),
            database: container.database.clone(),
            container: container.id.clone(),
            partition_key: container.paths.clone(),
            hot_partitions: told.map(RequestTelemetry::hottest).unwrap_or_default(),
            largest_partitions: largest(&items.estimates, told, scan.scale()),
            average_partition_size: items.estimates.by_bytes.mean,
            cross_partition_query_rate: told.and_then(RequestTelemetry::cross_partition_rate),
            skew,
            findings: items.findings.clone(),
            unknown: Vec::new(),
            scan,
            telemetry,
            items,
        };
        // A part of the container has fewer keys than the container.
        if metrics.sees_some_keys() {
            metrics.findings.retain(|finding| finding.code != LOW_CARDINALITY);
        }
        metrics.check();
        metrics
    }

    /// Returns true when the number of keys is that of a part of the container.
    fn sees_some_keys(&self) -> bool {
        !self.scan.is_complete
    }

    /// Returns true when there is a warning.
    pub fn has_warning(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Warning)
    }

    /// Adds the findings of the guide's alerts.
    fn check(&mut self) {
        let mut found = Vec::new();
        let mut warn = |code, threshold, measured, sentence| {
            let source = ALERTS_SOURCE;
            let severity = Severity::Warning;
            found.push(Finding { code, severity, threshold, measured, source, sentence });
        };
        if let (Some(hot), Some(telemetry)) = (self.hot_partitions.first(), &self.telemetry)
            && hot.share > HOT_SHARE
            && telemetry.request_units > MIN_SHARE_REQUEST_UNITS
            && telemetry.partitions() > 1.0
        {
            let sentence = format!(
                "{} takes {} of the request units. Spread it over suffixes, cache what is read, or \
                 choose a key that splits it.",
                hot.label(),
                percent(hot.share)
            );
            warn(HOT_PARTITION, HOT_SHARE, hot.share, sentence);
        }
        if let Some(large) = self.largest_partitions.first()
            && large.bytes > LARGE_PARTITION_BYTES
            && large.is_of_the_store
        {
            let sentence = format!(
                "{} holds {:.1} GB, and at 20 GB the store refuses writes to it. A hierarchical key \
                 splits it further.",
                large.key,
                large.bytes / GB
            );
            warn(LARGE_PARTITION, LARGE_PARTITION_BYTES, large.bytes, sentence);
        }
        if let (Some(rate), Some(telemetry)) = (self.cross_partition_query_rate, &self.telemetry)
            && rate > MAX_CROSS_PARTITION_SHARE
            && telemetry.queries >= MIN_RATE_QUERIES
        {
            let sentence = format!(
                "{} of the queries name no partition key, so each asks all physical partitions.",
                percent(rate)
            );
            warn(CROSS_PARTITION_QUERIES, MAX_CROSS_PARTITION_SHARE, rate, sentence);
        }
        if let (Some(gini), Some(telemetry)) = (self.skew.request_units, &self.telemetry)
            && gini > SKEWED_GINI
            && telemetry.partitions() >= MIN_SKEW_PARTITIONS
            && telemetry.request_units > MIN_SHARE_REQUEST_UNITS
        {
            let sentence = "A few logical partitions take most of the request units.".to_owned();
            warn(SKEWED_REQUESTS, SKEWED_GINI, gini, sentence);
        }
        self.findings.extend(found);
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        self.say_what_is_unknown();
    }

    fn say_what_is_unknown(&mut self) {
        let scan = &self.scan;
        if !scan.is_complete {
            self.unknown.push(match scan.items_in_container {
                Some(all) => format!(
                    "The scan read {} of about {all} items: those whose ids end in certain characters. Shares are those of \
                     the container, to within some points. There are more logical partitions than were seen, and \
                     what few items have is not seen.",
                    scan.items
                ),
                None => format!(
                    "The scan ended after {} items. They are the first of each physical partition in the \
                     store's own order, and no random sample: shares are those of what was read. More request \
                     units, or --sample, read across the partitions.",
                    scan.items
                ),
            });
        }
        match &self.telemetry {
            None => self.unknown.push(
                "Without --telemetry nothing is known of requests: hot partitions and cross-partition \
                 queries show in the handler's lines and in the diagnostic tables."
                    .to_owned(),
            ),
            Some(telemetry) => self.unknown.extend(telemetry.unknown()),
        }
    }
}

impl HotPartition {
    fn label(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.name)
    }
}

fn largest(
    items: &CandidateEstimates,
    telemetry: Option<&RequestTelemetry>,
    scale: f64,
) -> Vec<PartitionSize> {
    let told = telemetry.map(RequestTelemetry::sizes).unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "sizes are below 2^53 bytes")]
    let all = items.bytes as f64;
    let read = items.by_bytes.top.iter().filter(|one| !told.iter().any(|size| size.key == one.key));
    let read = read.map(|one| PartitionSize {
        key: one.key.clone(),
        bytes: one.share * all * scale,
        is_of_the_store: false,
    });
    let mut sizes: Vec<_> = told.iter().cloned().chain(read).collect();
    sizes.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    sizes.truncate(10);
    sizes
}

fn now() -> String {
    use time::format_description::well_known::Rfc3339;
    // The year always fits into RFC 3339.
    time::UtcDateTime::now()
        .replace_nanosecond(0)
        .ok()
        .and_then(|now| now.format(&Rfc3339).ok())
        .unwrap_or_default()
}
