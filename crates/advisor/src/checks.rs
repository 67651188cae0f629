//! The checks of a partition key: their codes, and the thresholds from which on they find something.
//!
//! The thresholds are those of the partitioning guide and the limits of the service. Risks in request units
//! ([`crate::estimates`]) have no thresholds, but the codes of the findings that they belong to.

use crate::limits::{GB, PARTITION_REQUEST_UNITS};

/// The anti-pattern of one item in each partition.
pub const HYPERFRAGMENTATION: &str = "hyperfragmentation";
/// The anti-pattern of one partition that takes most of the load.
pub const HOT_PARTITION: &str = "hot-partition";
/// The anti-pattern of few keys.
pub const LOW_CARDINALITY: &str = "low-cardinality";
/// The anti-pattern of a key that changes.
pub const CHANGING_KEY: &str = "changing-key";
/// The check of the evenness of the partitions.
pub const SKEWED_DISTRIBUTION: &str = "skewed-distribution";
/// The check of the share of requests that name the key.
pub const NOT_ALIGNED: &str = "not-aligned";
/// The check of the share of queries that visit all partitions.
pub const CROSS_PARTITION_QUERIES: &str = "cross-partition-queries";
/// The check of the largest partition against 20 GB.
pub const LARGE_PARTITION: &str = "large-partition";
/// The check of the busiest partition against 10,000 RU/s.
pub const THROUGHPUT_LIMIT: &str = "throughput-limit";
/// The check that each transaction is in one partition.
pub const SPANNING_TRANSACTION: &str = "spanning-transaction";
/// The check for items that lack a property of the key.
pub const MISSING_KEY: &str = "missing-key";
/// The check for items with `null` in a property of the key.
pub const NULL_KEY: &str = "null-key";
/// The check for items with an object, an array, or no time in a property of the key.
pub const INVALID_KEY: &str = "invalid-key";
/// The check for keys that are longer than the service allows.
pub const LONG_KEY: &str = "long-key";

/// The days to 20 GB above which the limit is far: five years.
pub const FAR_DAYS: f64 = 5.0 * 365.0;
/// The request units a second below which the limit is far: a tenth of a logical partition's.
pub const FAR_REQUEST_UNITS: f64 = PARTITION_REQUEST_UNITS / 10.0;

/// The number of keys below which the cardinality is low.
pub const MIN_KEYS: f64 = 100.0;
/// The share of requests that name the key below which it is not aligned.
pub const MIN_ALIGNED_SHARE: f64 = 0.8;
/// The Gini coefficient above which partitions are skewed.
pub const SKEWED_GINI: f64 = 0.7;
/// The share of the load above which a partition is hot.
pub const HOT_SHARE: f64 = 0.8;
/// The largest share of cross-partition queries that is not many.
pub const MAX_CROSS_PARTITION_SHARE: f64 = 0.5;
/// The size above which a partition is large, in bytes.
pub const LARGE_PARTITION_BYTES: f64 = 15.0 * GB;
/// The mean number of items below which partitions are fragments.
pub const MIN_PARTITION_ITEMS: f64 = 2.0;

/// The number of writes of a window below which the share of one key would be chance. With as many, the
/// error of a share is below 15 points.
pub(crate) const MIN_WINDOW_WRITES: u64 = 50;

pub(crate) const CHECKLIST_SOURCE: &str =
    "guide, Implementation Guidelines 1, Partition Key Design Checklist";
pub(crate) const ALERTS_SOURCE: &str = "guide, Monitoring and Diagnostics 2, Performance Alerting";
pub(crate) const LIMITS_SOURCE: &str =
    "service limit, https://learn.microsoft.com/azure/cosmos-db/concepts-limits";
