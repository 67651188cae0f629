//! The limits of the service, and the checks of a partition key: those of the partitioning guide and of the service.
//! Risks in request units ([`crate::estimates`]) have no thresholds, but the codes of the findings that they belong to.

use crate::report::{Finding, Severity};

pub(crate) const GB: f64 = 1_073_741_824.0;
pub(crate) const PARTITION_BYTES: f64 = 20.0 * GB;
pub(crate) const PHYSICAL_PARTITION_BYTES: f64 = 50.0 * GB;
/// The request units a second of a physical partition, and so of a logical one.
pub(crate) const PARTITION_REQUEST_UNITS: f64 = 10_000.0;
pub(crate) const SECONDS_OF_A_DAY: f64 = 86_400.0;

pub(crate) const FAR_DAYS: f64 = 5.0 * 365.0;
/// The request units a second below which the limit is far: a tenth of a logical partition's.
pub(crate) const FAR_REQUEST_UNITS: f64 = PARTITION_REQUEST_UNITS / 10.0;

/// The number of writes of a window below which the share of one key would be chance. With as many, the
/// error of a share is below 15 points.
pub(crate) const MIN_WINDOW_WRITES: u64 = 50;

const CHECKLIST: &str = "guide, Implementation Guidelines 1, Partition Key Design Checklist";
const ALERTS: &str = "guide, Monitoring and Diagnostics 2, Performance Alerting";
const PROPERTIES: &str = "guide, Partition Key Properties";
const FRAGMENTS: &str = "guide, Anti-Patterns 1, Hyperfragmentation";
const CHANGES: &str = "guide, Anti-Patterns 4, Frequently Changing Partition Keys";
pub(crate) const LIMITS: &str =
    "service limit, https://learn.microsoft.com/azure/cosmos-db/concepts-limits";
const TRANSACTIONS: &str =
    "service limit, https://learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch";
const SERVICE: &str = "service, https://learn.microsoft.com/azure/cosmos-db/partitioning-overview";

/// The code of findings, the threshold of a measured number, and the source of the threshold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyCheck {
    pub(crate) code: &'static str,
    pub(crate) threshold: f64,
    source: &'static str,
}

const fn check(code: &'static str, threshold: f64, source: &'static str) -> KeyCheck {
    KeyCheck { code, threshold, source }
}

impl KeyCheck {
    pub(crate) fn finding(self, measured: f64, sentence: String) -> Finding {
        let Self { code, threshold, source } = self;
        Finding { code, severity: Severity::Warning, threshold, measured, source, sentence }
    }
}

pub(crate) const LOW_CARDINALITY: KeyCheck = check("low-cardinality", 100.0, CHECKLIST);
pub(crate) const HOT_PARTITION: KeyCheck = check("hot-partition", 0.8, ALERTS);
pub(crate) const HYPERFRAGMENTATION: KeyCheck = check("hyperfragmentation", 2.0, FRAGMENTS);
pub(crate) const CHANGING_KEY: KeyCheck = check("changing-key", 0.0, CHANGES);
pub(crate) const SKEWED_DISTRIBUTION: KeyCheck = check("skewed-distribution", 0.7, ALERTS);
pub(crate) const SKEWED_REQUESTS: KeyCheck = check("skewed-requests", 0.7, ALERTS);
pub(crate) const NOT_ALIGNED: KeyCheck = check("not-aligned", 0.8, CHECKLIST);
pub(crate) const CROSS_PARTITION_QUERIES: KeyCheck = check("cross-partition-queries", 0.5, ALERTS);
pub(crate) const LARGE_PARTITION: KeyCheck = check("large-partition", 15.0 * GB, ALERTS);
pub(crate) const THROUGHPUT_LIMIT: KeyCheck =
    check("throughput-limit", PARTITION_REQUEST_UNITS, LIMITS);
pub(crate) const SPANNING_TRANSACTION: KeyCheck = check("spanning-transaction", 0.0, TRANSACTIONS);
pub(crate) const MISSING_KEY: KeyCheck = check("missing-key", 0.0, PROPERTIES);
pub(crate) const NULL_KEY: KeyCheck = check("null-key", 0.0, PROPERTIES);
pub(crate) const INVALID_KEY: KeyCheck = check("invalid-key", 0.0, SERVICE);
pub(crate) const LONG_KEY: KeyCheck = check("long-key", 0.0, LIMITS);
