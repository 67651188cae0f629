//! The checks of a partition key: their codes, and the thresholds from which on they find something.
//!
//! The thresholds are those of the partitioning guide and the limits of the service. Risks in request units
//! ([`crate::estimates`]) have no thresholds, but the codes of the findings that they belong to.

use crate::limits::{GB, PARTITION_REQUEST_UNITS};

pub(crate) const HYPERFRAGMENTATION: &str = "hyperfragmentation";
pub(crate) const HOT_PARTITION: &str = "hot-partition";
pub(crate) const LOW_CARDINALITY: &str = "low-cardinality";
pub(crate) const CHANGING_KEY: &str = "changing-key";
pub(crate) const SKEWED_DISTRIBUTION: &str = "skewed-distribution";
pub(crate) const NOT_ALIGNED: &str = "not-aligned";
pub(crate) const CROSS_PARTITION_QUERIES: &str = "cross-partition-queries";
pub(crate) const LARGE_PARTITION: &str = "large-partition";
pub(crate) const THROUGHPUT_LIMIT: &str = "throughput-limit";
pub(crate) const SPANNING_TRANSACTION: &str = "spanning-transaction";
pub(crate) const MISSING_KEY: &str = "missing-key";
pub(crate) const NULL_KEY: &str = "null-key";
pub(crate) const INVALID_KEY: &str = "invalid-key";
pub(crate) const LONG_KEY: &str = "long-key";

pub(crate) const FAR_DAYS: f64 = 5.0 * 365.0;
/// The request units a second below which the limit is far: a tenth of a logical partition's.
pub(crate) const FAR_REQUEST_UNITS: f64 = PARTITION_REQUEST_UNITS / 10.0;

pub(crate) const MIN_KEYS: f64 = 100.0;
/// The share of requests that name the key below which it is not aligned.
pub(crate) const MIN_ALIGNED_SHARE: f64 = 0.8;
pub(crate) const SKEWED_GINI: f64 = 0.7;
pub(crate) const HOT_SHARE: f64 = 0.8;
/// The largest share of cross-partition queries that is not many.
pub(crate) const MAX_CROSS_PARTITION_SHARE: f64 = 0.5;
pub(crate) const LARGE_PARTITION_BYTES: f64 = 15.0 * GB;
pub(crate) const MIN_PARTITION_ITEMS: f64 = 2.0;

/// The number of writes of a window below which the share of one key would be chance. With as many, the
/// error of a share is below 15 points.
pub(crate) const MIN_WINDOW_WRITES: u64 = 50;

pub(crate) const CHECKLIST_SOURCE: &str =
    "guide, Implementation Guidelines 1, Partition Key Design Checklist";
pub(crate) const ALERTS_SOURCE: &str = "guide, Monitoring and Diagnostics 2, Performance Alerting";
pub(crate) const LIMITS_SOURCE: &str =
    "service limit, https://learn.microsoft.com/azure/cosmos-db/concepts-limits";
