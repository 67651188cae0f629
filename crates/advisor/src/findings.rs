//! The anti-patterns of the partitioning guide, its checks, and the limits of the service.
//!
//! A finding is a [`Severity::Warning`] unless the stated traffic and growth show that no limit is near:
//! the largest logical partition needs more than [`FAR_DAYS`] to 20 GB, and the busiest has less than
//! [`FAR_REQUEST_UNITS`] at its peak. Then uneven or few partitions do no harm, and it is a
//! [`Severity::Notice`]. Findings that cost or fail whatever the size stay warnings.

use crate::{
    estimate::{GB, PARTITION_REQUEST_UNITS, World, hotness_needs, load::PARTITION_BYTES},
    report::{Finding, Report, Severity},
    request::Operation,
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

const CHECKLIST: &str = "guide, Implementation Guidelines 1, Partition Key Design Checklist";
const ALERTS: &str = "guide, Monitoring and Diagnostics 2, Performance Alerting";
const LIMITS: &str = "service limit, https://learn.microsoft.com/azure/cosmos-db/concepts-limits";

/// Returns all findings, warnings first.
pub(crate) fn findings(report: &Report, world: &World<'_>) -> Vec<Finding> {
    let by_size = if limits_are_far(report) { Severity::Notice } else { Severity::Warning };
    let mut findings: Vec<_> = [
        low_cardinality(report, by_size),
        hot_partition(report, by_size),
        hyperfragmentation(report, world),
        changing_key(report, world),
        skewed_distribution(report, by_size),
        not_aligned(report),
        cross_partition_queries(report),
        large_partition(report),
        throughput_limit(report),
        spanning_transaction(report),
    ]
    .into_iter()
    .flatten()
    .chain(keys_of_items(report))
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
    let hotness = report.hotness.as_ref().filter(|hot| hot.writes >= hotness_needs());
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
            "{} {of} go to one logical partition, {key}, which cannot do more than \
             {PARTITION_REQUEST_UNITS} RU/s. Spread it: join the key with a bucket, or with a property that \
             tells concurrent writes apart.",
            percent(share)
        ),
    })
}

fn hyperfragmentation(report: &Report, world: &World<'_>) -> Option<Finding> {
    let n_items = crate::sketch::float(report.items);
    let mean = n_items / report.cardinality.value.max(1.0);
    if n_items < LEAST_CARDINALITY || mean >= LEAST_ITEMS {
        return None;
    }
    let is_query = |operation| operation == Operation::Query;
    let queries = world.kinds.iter().any(|(kind, _)| is_query(kind.request.operation));
    // Where each request names the key, one item a partition is as good as it gets.
    let (severity, why) = match report.aligned {
        Some(aligned) if aligned >= 1.0 && !queries => return None,
        Some(aligned) if aligned >= LEAST_ALIGNED => (
            Severity::Notice,
            "Most requests name the key, so it does little harm; a transaction or a query over several \
             items has no partition to be in.",
        ),
        Some(_) if report.cross_partition.is_some_and(|share| share <= MOST_CROSS_PARTITION) => (
            Severity::Notice,
            "Most queries name keys, or the first level of a hierarchical key, under which related items are \
             together; a transaction has no partition to be in.",
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
        let steps = kind.request.writes.iter().flat_map(|step| &step.set);
        let path = kind.request.set.iter().chain(steps).find(|path| paths.contains(path))?;
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

fn not_aligned(report: &Report) -> Option<Finding> {
    let aligned = report.aligned.filter(|aligned| *aligned < LEAST_ALIGNED)?;
    let worst = report.requests.iter().filter(|request| !request.names_key).max_by(|a, b| {
        let cost = |request: &crate::report::RequestReport| {
            request.request_units_per_day.unwrap_or(request.request_units)
        };
        cost(a).total_cmp(&cost(b))
    });
    let worst = worst.map_or(String::new(), |request| {
        format!(
            " The dearest that does not is `{}`, {:.1} RU each.",
            request.kind, request.request_units
        )
    });
    Some(Finding {
        code: NOT_ALIGNED,
        severity: Severity::Warning,
        threshold: LEAST_ALIGNED,
        measured: aligned,
        source: CHECKLIST,
        sentence: format!("{} of the requests name the key.{worst}", percent(aligned)),
    })
}

fn cross_partition_queries(report: &Report) -> Option<Finding> {
    let share = report.cross_partition.filter(|share| *share > MOST_CROSS_PARTITION)?;
    Some(Finding {
        code: CROSS_PARTITION_QUERIES,
        severity: Severity::Warning,
        threshold: MOST_CROSS_PARTITION,
        measured: share,
        source: ALERTS,
        sentence: format!(
            "{} of the queries visit all partitions. Their cost grows with the container: it has {} now.",
            percent(share),
            counted(report.physical_partitions, "physical partition")
        ),
    })
}

fn large_partition(report: &Report) -> Option<Finding> {
    let growth = &report.growth;
    let soon = growth.days_to_20_gb.filter(|days| *days < 365.0);
    if growth.largest_bytes < LARGE_BYTES && soon.is_none() {
        return None;
    }
    let key = report.by_bytes.top.first().map(|top| top.key.clone()).unwrap_or_default();
    let when = match soon {
        Some(days) if days <= 0.0 => " Writes to it are refused there.".to_owned(),
        Some(days) => {
            format!(" At the stated growth it is there in {}.", counted(days.ceil(), "day"))
        }
        None => String::new(),
    };
    Some(Finding {
        code: LARGE_PARTITION,
        severity: Severity::Warning,
        threshold: LARGE_BYTES,
        measured: growth.largest_bytes,
        source: if growth.largest_bytes < LARGE_BYTES { LIMITS } else { ALERTS },
        sentence: format!(
            "The largest logical partition, {key}, has {:.1} GB of the {:.0} GB that one can have.{when} Add a \
             period or a second level to the key.",
            growth.largest_bytes / GB,
            PARTITION_BYTES / GB
        ),
    })
}

fn throughput_limit(report: &Report) -> Option<Finding> {
    let growth = &report.growth;
    let busiest = growth.busiest_request_units_per_second?;
    // From far below the limit, a straight line into the future says nothing.
    let is_near = busiest >= FAR_REQUEST_UNITS;
    let soon = growth.days_to_10_000_ru.filter(|days| is_near && *days < 365.0);
    if busiest < PARTITION_REQUEST_UNITS && soon.is_none() {
        return None;
    }
    let when = match soon {
        Some(days) if days > 0.0 => {
            format!(
                " If requests grow as the items do, it is there in {}.",
                counted(days.ceil(), "day")
            )
        }
        _ => " Requests beyond are refused with 429.".to_owned(),
    };
    Some(Finding {
        code: THROUGHPUT_LIMIT,
        severity: Severity::Warning,
        threshold: PARTITION_REQUEST_UNITS,
        measured: busiest,
        source: LIMITS,
        sentence: format!(
            "The busiest logical partition needs {busiest:.0} RU/s at its peak, of the \
             {PARTITION_REQUEST_UNITS} that one can have.{when}"
        ),
    })
}

fn spanning_transaction(report: &Report) -> Option<Finding> {
    let spans: Vec<_> = report
        .requests
        .iter()
        .filter(|request| request.transaction_fits == Some(false))
        .map(|request| format!("`{}`", request.kind))
        .collect();
    (!spans.is_empty()).then(|| Finding {
        code: SPANNING_TRANSACTION,
        severity: Severity::Warning,
        threshold: 0.0,
        measured: crate::sketch::float(spans.len() as u64),
        source: "service limit, https://learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch",
        sentence: format!(
            "A transaction has items of one logical partition, and this key does not put them there: {}.",
            spans.join(", ")
        ),
    })
}

fn keys_of_items(report: &Report) -> Vec<Finding> {
    let keys = &report.keys;
    let of = crate::sketch::float(report.items.max(1));
    let finding = |code, n: u64, source, what: &str| {
        (n > 0).then(|| Finding {
            code,
            severity: Severity::Warning,
            threshold: 0.0,
            measured: crate::sketch::float(n) / of,
            source,
            sentence: format!(
                "{} of {} {what}",
                counted(crate::sketch::float(n), "item"),
                report.items
            ),
        })
    };
    let is_computed = report
        .strategy
        .levels()
        .iter()
        .any(|level| !matches!(level.as_slice(), [tributary_partitioning::Part::Value(_)]));
    let together = |what: &str| {
        if is_computed {
            format!("{what}: the key cannot be made.")
        } else {
            format!("{what}: all such items share one logical partition.")
        }
    };
    let properties = "guide, Partition Key Properties";
    [
        finding(MISSING_KEY, keys.missing, properties, &together("lack a property of the key")),
        finding(NULL_KEY, keys.null, properties, &together("have null in a property of the key")),
        finding(
            INVALID_KEY,
            keys.not_scalar + keys.not_a_time,
            "service, https://learn.microsoft.com/azure/cosmos-db/partitioning-overview",
            "have an object or an array in a property of the key, or no time where its period is the key.",
        ),
        finding(
            LONG_KEY,
            keys.too_long,
            LIMITS,
            "have a key of more than 2,048 bytes, which the service refuses.",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Returns `1 item`, `2 items`, `1,234 items`.
fn counted(n: f64, what: &str) -> String {
    let digits = format!("{n:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let s = if digits == "1" { "" } else { "s" };
    format!("{grouped} {what}{s}")
}
