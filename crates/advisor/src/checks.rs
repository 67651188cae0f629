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
/// Some partitions have much more than others.
pub const SKEWED_DISTRIBUTION: &str = "skewed-distribution";
/// Many requests do not name the key.
pub const NOT_ALIGNED: &str = "not-aligned";
/// Many queries visit all partitions.
pub const CROSS_PARTITION_QUERIES: &str = "cross-partition-queries";
/// A partition is near 20 GB.
pub const LARGE_PARTITION: &str = "large-partition";
/// A partition is near 10,000 RU/s.
pub const THROUGHPUT_LIMIT: &str = "throughput-limit";
/// A transaction has items of several partitions.
pub const SPANNING_TRANSACTION: &str = "spanning-transaction";
/// Items lack a property of the key.
pub const MISSING_KEY: &str = "missing-key";
/// A property of the key is `null`.
pub const NULL_KEY: &str = "null-key";
/// A property of the key is an object, an array, or no time.
pub const INVALID_KEY: &str = "invalid-key";
/// Keys are longer than the service allows.
pub const LONG_KEY: &str = "long-key";

/// A year's growth to 20 GB is near; five times as long is far.
pub const FAR_DAYS: f64 = 5.0 * 365.0;
/// A tenth of what a logical partition can do.
pub const FAR_REQUEST_UNITS: f64 = PARTITION_REQUEST_UNITS / 10.0;

/// With fewer keys the cardinality is low.
pub const MIN_KEYS: f64 = 100.0;
/// With a smaller share of requests that name the key, it is not aligned.
pub const MIN_ALIGNED_SHARE: f64 = 0.8;
/// From this Gini coefficient on partitions are skewed.
pub const SKEWED_GINI: f64 = 0.7;
/// From this share of the load on a partition is hot.
pub const HOT_SHARE: f64 = 0.8;
/// From this share on, cross-partition queries are many.
pub const MAX_CROSS_PARTITION_SHARE: f64 = 0.5;
/// From this size on a partition is large, in bytes.
pub const LARGE_PARTITION_BYTES: f64 = 15.0 * GB;
/// With fewer items in a partition on average, partitions are fragments.
pub const MIN_PARTITION_ITEMS: f64 = 2.0;

/// A window with fewer writes tells nothing: the share of one key would be chance. With as many, the
/// error of a share is below 15 points.
pub(crate) const MIN_WINDOW_WRITES: u64 = 50;

pub(crate) const CHECKLIST_SOURCE: &str =
    "guide, Implementation Guidelines 1, Partition Key Design Checklist";
pub(crate) const ALERTS_SOURCE: &str = "guide, Monitoring and Diagnostics 2, Performance Alerting";
pub(crate) const LIMITS_SOURCE: &str =
    "service limit, https://learn.microsoft.com/azure/cosmos-db/concepts-limits";
