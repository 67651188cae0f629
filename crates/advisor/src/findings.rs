//! The anti-patterns of the partitioning guide, its checks, and the limits of the service.
//!
//! A finding is a [`Severity::Warning`] unless the stated traffic and growth show that no limit is near:
//! the largest logical partition needs more than [`FAR_DAYS`] to 20 GB, and the busiest has less than
//! [`FAR_REQUEST_UNITS`] at its peak. Then uneven or few partitions do no harm, and the finding is a
//! [`Severity::Notice`]. Findings that cost or fail at any size stay warnings.

use crate::{
    checks::{
        ALERTS_SOURCE, CHANGING_KEY, CHECKLIST_SOURCE, FAR_DAYS, FAR_REQUEST_UNITS, HOT_PARTITION,
        HOT_SHARE, HYPERFRAGMENTATION, LOW_CARDINALITY, MAX_CROSS_PARTITION_SHARE,
        MIN_ALIGNED_SHARE, MIN_KEYS, MIN_PARTITION_ITEMS, MIN_WINDOW_WRITES, SKEWED_DISTRIBUTION,
        SKEWED_GINI,
    },
    estimates::{Estimates, model::ContainerModel},
    limits::PARTITION_REQUEST_UNITS,
    report::{CandidateEstimates, CandidateReport, Finding, Severity},
    request::RequestOperation,
    words::{counted, percent, whole},
};

mod items;
mod requests;
mod unknown;

/// Finds the anti-patterns and failed checks of each candidate by its estimates. The reports are in the order
/// of the candidates.
pub fn find(estimates: Estimates<'_>) -> Vec<CandidateReport> {
    let Estimates { candidates, model } = estimates;
    let report = |estimates: CandidateEstimates| CandidateReport {
        findings: findings(&estimates, &model),
        unknown: unknown::unknown(&estimates, &model),
        estimates,
    };
    candidates.into_iter().map(report).collect()
}

/// Returns all findings, warnings first.
fn findings(estimates: &CandidateEstimates, model: &ContainerModel<'_>) -> Vec<Finding> {
    let by_size = if limits_are_far(estimates) { Severity::Notice } else { Severity::Warning };
    let mut findings: Vec<_> = [
        low_cardinality(estimates, by_size),
        hot_partition(estimates, by_size),
        hyperfragmentation(estimates, model),
        changing_key(estimates, model),
        skewed_distribution(estimates, by_size),
        requests::not_aligned(estimates),
        requests::cross_partition_queries(estimates),
        requests::large_partition(estimates),
        requests::throughput_limit(estimates),
        requests::spanning_transaction(estimates),
    ]
    .into_iter()
    .flatten()
    .chain(items::keys_of_items(estimates))
    .collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn limits_are_far(estimates: &CandidateEstimates) -> bool {
    let growth = &estimates.growth;
    let size =
        growth.items_per_day.is_some() && growth.days_to_20_gb.is_none_or(|days| days > FAR_DAYS);
    size && growth
        .busiest_request_units_per_second
        .is_some_and(|busiest| busiest < FAR_REQUEST_UNITS)
}

fn low_cardinality(estimates: &CandidateEstimates, severity: Severity) -> Option<Finding> {
    let n = estimates.cardinality.value;
    (n < MIN_KEYS).then(|| {
        let grows = if estimates.growth.ends_with_period {
            " Each period adds keys, but those of one period stay as few as they are."
        } else {
            " Data and requests cannot spread over more partitions than there are keys. Join the key with \
             another property, a period or a bucket, or take one with more values."
        };
        Finding::new(LOW_CARDINALITY, severity, [MIN_KEYS, n], CHECKLIST_SOURCE, format!(
                "The key has {}, and fewer than {MIN_KEYS} are few.{grows}",
                counted(n, "value")
            ))
    })
}

fn hot_partition(estimates: &CandidateEstimates, severity: Severity) -> Option<Finding> {
    let hotness = estimates.hotness.as_ref().filter(|hot| hot.writes >= MIN_WINDOW_WRITES);
    let by_writes = hotness.map(|hot| {
        let window = match hot.window_seconds {
            60 => "minute",
            3_600 => "hour",
            _ => "day",
        };
        (hot.share, format!("of the writes of the busiest {window}"), hot.key.clone())
    });
    let by_load = estimates.by_request_units.as_ref().map(|load| {
        let key = load.top.first().map(|top| top.key.clone()).unwrap_or_default();
        (load.largest, "of the request units".to_owned(), key)
    });
    // Without times and requests, the items tell the share.
    let by_items = || {
        let key = estimates.by_items.top.first().map(|top| top.key.clone()).unwrap_or_default();
        (estimates.by_items.largest, "of the items".to_owned(), key)
    };
    let worst = by_writes.into_iter().chain(by_load).max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, of, key) = worst.unwrap_or_else(by_items);
    (share > HOT_SHARE).then(|| Finding::new(HOT_PARTITION, severity, [HOT_SHARE, share], ALERTS_SOURCE, format!(
            "{} {of} go to one logical partition, {key}, which cannot do more than {} RU/s. Spread it: \
             join the key with a bucket, or with a property that tells concurrent writes apart.",
            percent(share),
            whole(PARTITION_REQUEST_UNITS)
        )))
}

fn hyperfragmentation(
    estimates: &CandidateEstimates,
    model: &ContainerModel<'_>,
) -> Option<Finding> {
    let n_items = crate::words::float(estimates.items);
    let mean = estimates.by_items.mean;
    if n_items < MIN_KEYS || mean >= MIN_PARTITION_ITEMS {
        return None;
    }
    let is_query = |operation| operation == RequestOperation::Query;
    let queries = model.kinds.iter().any(|(kind, _)| is_query(kind.request.operation));
    let few_cross =
        estimates.cross_partition.is_some_and(|share| share <= MAX_CROSS_PARTITION_SHARE);
    let (severity, why) = match estimates.aligned {
        // Where each request names the key, one item a partition is the best.
        Some(aligned) if aligned >= 1.0 && !queries => return None,
        Some(aligned) if few_cross || aligned >= MIN_ALIGNED_SHARE => (
            Severity::Notice,
            "Most requests name the key, or its first level, so it does little harm; a transaction has no partition \
             to be in.",
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
    Some(Finding::new(
        HYPERFRAGMENTATION,
        severity,
        [MIN_PARTITION_ITEMS, mean],
        "guide, Anti-Patterns 1, Hyperfragmentation",
        format!(
            "A logical partition has {mean:.1} items on average: almost one partition for each item. {why}"
        ),
    ))
}

fn changing_key(estimates: &CandidateEstimates, model: &ContainerModel<'_>) -> Option<Finding> {
    let paths: Vec<_> = estimates
        .strategy
        .levels()
        .iter()
        .flatten()
        .map(cosmos_model::partitioning::KeyPart::path)
        .collect();
    let (kind, path) = model.kinds.iter().find_map(|(kind, _)| {
        let path = paths.iter().find(|path| kind.request.sets_one_of(&[path]))?;
        Some((kind, path))
    })?;
    let per_day = kind.request.per_day();
    let often = per_day.map_or(String::new(), |n| format!(", {} a day", counted(n, "time")));
    Some(Finding::new(
        CHANGING_KEY,
        Severity::Warning,
        [0.0, per_day.unwrap_or(1.0)],
        "guide, Anti-Patterns 4, Frequently Changing Partition Keys",
        format!(
            "`{}` changes {path}, of which the key is made{often}. The service cannot change the key of an item: it \
             must be deleted in one partition and created in the other, without a transaction.",
            kind.request.kind
        ),
    ))
}

fn skewed_distribution(estimates: &CandidateEstimates, severity: Severity) -> Option<Finding> {
    let gini = |what: &'static str, by: &crate::report::Distribution| (by.gini, by.largest, what);
    let request_units = estimates.by_request_units.as_ref();
    let worst = [
        Some(gini("items", &estimates.by_items)),
        Some(gini("bytes", &estimates.by_bytes)),
        request_units.map(|by| gini("request units", by)),
    ]
    .into_iter()
    .flatten()
    .max_by(|a, b| a.0.total_cmp(&b.0));
    let (gini, largest, what) = worst.filter(|(gini, ..)| *gini > SKEWED_GINI)?;
    Some(Finding::new(
        SKEWED_DISTRIBUTION,
        severity,
        [SKEWED_GINI, gini],
        ALERTS_SOURCE,
        format!(
            "The {what} are uneven over the logical partitions: the Gini coefficient is {gini:.2}, and the \
             largest has {} of them. The large ones reach a limit while the others are idle.",
            percent(largest)
        ),
    ))
}
