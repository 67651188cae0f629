//! The anti-patterns of the partitioning guide, its checks, and the limits of the service.
//!
//! A finding is a [`Severity::Warning`] unless the stated traffic and growth show that no limit is near:
//! the largest logical partition needs more than [`FAR_DAYS`] to 20 GB, and the busiest has less than
//! [`FAR_REQUEST_UNITS`] at its peak. Then uneven or few partitions do no harm, and it is a
//! [`Severity::Notice`]. Findings that cost or fail whatever the size stay warnings.

use crate::{
    limits::{GB, PARTITION_REQUEST_UNITS},
    report::{Finding, Report, Severity},
    request::Operation,
    words::{counted, percent, whole},
    world::World,
};

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
pub const LEAST_CARDINALITY: f64 = 100.0;
/// With a smaller share of requests that name the key, it is not aligned.
pub const LEAST_ALIGNED: f64 = 0.8;
/// From this Gini coefficient on partitions are skewed.
pub const MOST_GINI: f64 = 0.7;
/// From this share of the load on a partition is hot.
pub const MOST_SHARE: f64 = 0.8;
/// From this share on, cross-partition queries are many.
pub const MOST_CROSS_PARTITION: f64 = 0.5;
/// From this size on a partition is large, in bytes.
pub const LARGE_BYTES: f64 = 15.0 * GB;
/// With fewer items in a partition on average, partitions are fragments.
pub const LEAST_ITEMS: f64 = 2.0;

/// A window with fewer writes tells nothing: the share of one key would be chance. With as many, the
/// error of a share is below 15 points.
pub(crate) const ENOUGH_WRITES: u64 = 50;

const CHECKLIST: &str = "guide, Implementation Guidelines 1, Partition Key Design Checklist";
pub(crate) const ALERTS: &str = "guide, Monitoring and Diagnostics 2, Performance Alerting";
const LIMITS: &str = "service limit, https://learn.microsoft.com/azure/cosmos-db/concepts-limits";

mod items;
mod requests;

/// Returns all findings, warnings first.
pub(crate) fn findings(report: &Report, world: &World<'_>) -> Vec<Finding> {
    let by_size = if limits_are_far(report) { Severity::Notice } else { Severity::Warning };
    let mut findings: Vec<_> = [
        low_cardinality(report, by_size),
        hot_partition(report, by_size),
        hyperfragmentation(report, world),
        changing_key(report, world),
        skewed_distribution(report, by_size),
        requests::not_aligned(report),
        requests::cross_partition_queries(report),
        requests::large_partition(report),
        requests::throughput_limit(report),
        requests::spanning_transaction(report),
    ]
    .into_iter()
    .flatten()
    .chain(items::keys_of_items(report))
    .collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn limits_are_far(report: &Report) -> bool {
    let growth = &report.growth;
    let size =
        growth.items_per_day.is_some() && growth.days_to_20_gb.is_none_or(|days| days > FAR_DAYS);
    size && growth
        .busiest_request_units_per_second
        .is_some_and(|busiest| busiest < FAR_REQUEST_UNITS)
}

fn low_cardinality(report: &Report, severity: Severity) -> Option<Finding> {
    let n = report.cardinality.value;
    (n < LEAST_CARDINALITY).then(|| {
        let grows = if report.growth.ends_with_period {
            " Each period adds keys, but those of one period stay as few as they are."
        } else {
            " Data and requests cannot spread over more partitions than there are keys. Join the key with \
             another property, a period or a bucket, or take one with more values."
        };
        Finding {
            code: LOW_CARDINALITY,
            severity,
            threshold: LEAST_CARDINALITY,
            measured: n,
            source: CHECKLIST,
            sentence: format!(
                "The key has {}, and fewer than {LEAST_CARDINALITY} are few.{grows}",
                counted(n, "value")
            ),
        }
    })
}

fn hot_partition(report: &Report, severity: Severity) -> Option<Finding> {
    let hotness = report.hotness.as_ref().filter(|hot| hot.writes >= ENOUGH_WRITES);
    let by_writes = hotness.map(|hot| {
        let window = match hot.window_seconds {
            60 => "minute",
            3_600 => "hour",
            _ => "day",
        };
        (hot.share, format!("of the writes of the busiest {window}"), hot.key.clone())
    });
    let by_load = report.by_request_units.as_ref().map(|load| {
        let key = load.top.first().map(|top| top.key.clone()).unwrap_or_default();
        (load.largest, "of the request units".to_owned(), key)
    });
    // Without times and requests, at least the items tell.
    let by_items = || {
        let key = report.by_items.top.first().map(|top| top.key.clone()).unwrap_or_default();
        (report.by_items.largest, "of the items".to_owned(), key)
    };
    let (share, of, key) = match (by_writes, by_load) {
        (Some(writes), Some(load)) => {
            if writes.0 >= load.0 {
                writes
            } else {
                load
            }
        }
        (writes, load) => writes.or(load).unwrap_or_else(by_items),
    };
    (share > MOST_SHARE).then(|| Finding {
        code: HOT_PARTITION,
        severity,
        threshold: MOST_SHARE,
        measured: share,
        source: ALERTS,
        sentence: format!(
            "{} {of} go to one logical partition, {key}, which cannot do more than {} RU/s. Spread it: \
             join the key with a bucket, or with a property that tells concurrent writes apart.",
            percent(share),
            whole(PARTITION_REQUEST_UNITS)
        ),
    })
}

fn hyperfragmentation(report: &Report, world: &World<'_>) -> Option<Finding> {
    let n_items = crate::sketch::float(report.items);
    let mean = report.by_items.mean;
    if n_items < LEAST_CARDINALITY || mean >= LEAST_ITEMS {
        return None;
    }
    let is_query = |operation| operation == Operation::Query;
    let queries = world.kinds.iter().any(|(kind, _)| is_query(kind.request.operation));
    // Where each request names the key, one item a partition is as good as it gets.
    let (severity, why) = match report.aligned {
        Some(aligned) if aligned >= 1.0 && !queries => return None,
        Some(_) if report.cross_partition.is_some_and(|share| share <= MOST_CROSS_PARTITION) => (
            Severity::Notice,
            "Most queries name keys, or the first level of a hierarchical key, under which related items are \
             together; a transaction has no partition to be in.",
        ),
        Some(aligned) if aligned >= LEAST_ALIGNED => (
            Severity::Notice,
            "Most requests name the key, so it does little harm; a transaction or a query over several \
             items has no partition to be in.",
        ),
        Some(_) => (
            Severity::Warning,
            "No query finds related items together, so queries go to all partitions. Take the property \
             by which items are read together.",
        ),
        None => (
            Severity::Warning,
            "No query finds related items together. This is right only where every request is a point \
             read: state the requests.",
        ),
    };
    Some(Finding {
        code: HYPERFRAGMENTATION,
        severity,
        threshold: LEAST_ITEMS,
        measured: mean,
        source: "guide, Anti-Patterns 1, Hyperfragmentation",
        sentence: format!(
            "A logical partition has {mean:.1} items on average: almost one partition for each item. {why}"
        ),
    })
}

fn changing_key(report: &Report, world: &World<'_>) -> Option<Finding> {
    let source = "guide, Anti-Patterns 4, Frequently Changing Partition Keys";
    let paths: Vec<_> =
        report.strategy.levels().iter().flatten().map(tributary_partitioning::Part::path).collect();
    let set_by = world.kinds.iter().find_map(|(kind, _)| {
        let path = paths.iter().find(|path| kind.request.sets_one_of(&[path]))?;
        Some((kind, path))
    });
    let move_costs = "The service cannot change the key of an item: it must be deleted in one partition and \
                      created in the other, without a transaction.";
    if let Some((kind, path)) = set_by {
        let per_day = kind.request.per_day();
        let often = per_day.map_or(String::new(), |n| format!(", {} a day", counted(n, "time")));
        return Some(Finding {
            code: CHANGING_KEY,
            severity: Severity::Warning,
            threshold: 0.0,
            measured: per_day.unwrap_or(1.0),
            source,
            sentence: format!(
                "`{}` changes {path}, of which the key is made{often}. {move_costs}",
                kind.request.kind
            ),
        });
    }
    let (repeated, changed) = (report.keys.repeated_ids, report.keys.changed_ids);
    (changed > 0).then(|| {
        let share = crate::sketch::float(changed) / crate::sketch::float(repeated.max(1));
        let doubt = if world.options.current.is_none() && world.options.time.is_none() {
            " Or different items share an id: state the current key to tell the two apart."
        } else {
            ""
        };
        Finding {
            code: CHANGING_KEY,
            severity: Severity::Warning,
            threshold: 0.0,
            measured: share,
            source,
            sentence: format!(
                "Of {repeated} ids that come several times in the sample, {changed} come with different \
                 keys. {move_costs}{doubt}"
            ),
        }
    })
}

fn skewed_distribution(report: &Report, severity: Severity) -> Option<Finding> {
    let gini = |what: &'static str, by: &crate::report::Distribution| (by.gini, by.largest, what);
    let request_units = report.by_request_units.as_ref();
    let worst = [
        Some(gini("items", &report.by_items)),
        Some(gini("bytes", &report.by_bytes)),
        request_units.map(|by| gini("request units", by)),
    ]
    .into_iter()
    .flatten()
    .max_by(|a, b| a.0.total_cmp(&b.0));
    let (gini, largest, what) = worst.filter(|(gini, ..)| *gini > MOST_GINI)?;
    Some(Finding {
        code: SKEWED_DISTRIBUTION,
        severity,
        threshold: MOST_GINI,
        measured: gini,
        source: ALERTS,
        sentence: format!(
            "The {what} are uneven over the logical partitions: the Gini coefficient is {gini:.2}, and the \
             largest has {} of them. The large ones reach a limit while the others are idle.",
            percent(largest)
        ),
    })
}
