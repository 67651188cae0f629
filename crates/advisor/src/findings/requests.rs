//! Checks of requests, and of the limits of a logical partition.

use crate::{
    checks::{
        ALERTS_SOURCE, CHECKLIST_SOURCE, CROSS_PARTITION_QUERIES, FAR_REQUEST_UNITS,
        LARGE_PARTITION, LARGE_PARTITION_BYTES, LIMITS_SOURCE, MAX_CROSS_PARTITION_SHARE,
        MIN_ALIGNED_SHARE, NOT_ALIGNED, SPANNING_TRANSACTION, THROUGHPUT_LIMIT,
    },
    limits::{GB, PARTITION_BYTES, PARTITION_REQUEST_UNITS},
    report::{CandidateEstimates, Finding, Severity},
    words::{counted, percent, whole},
};

pub(super) fn not_aligned(estimates: &CandidateEstimates) -> Option<Finding> {
    let aligned = estimates.aligned.filter(|aligned| *aligned < MIN_ALIGNED_SHARE)?;
    let worst =
        estimates.requests.iter().filter(|request| !request.names.is_one_place()).max_by(|a, b| {
            let cost = |request: &crate::report::RequestEstimates| {
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
    Some(Finding::new(
        NOT_ALIGNED,
        Severity::Warning,
        [MIN_ALIGNED_SHARE, aligned],
        CHECKLIST_SOURCE,
        format!(
            "{} of the requests name the key, or the first levels of one with levels.{worst}",
            percent(aligned)
        ),
    ))
}

pub(super) fn cross_partition_queries(estimates: &CandidateEstimates) -> Option<Finding> {
    let share = estimates.cross_partition.filter(|share| *share > MAX_CROSS_PARTITION_SHARE)?;
    Some(Finding::new(
        CROSS_PARTITION_QUERIES,
        Severity::Warning,
        [MAX_CROSS_PARTITION_SHARE, share],
        ALERTS_SOURCE,
        format!(
            "{} of the queries visit all partitions. Their cost grows with the container: it has {} now.",
            percent(share),
            counted(estimates.physical_partitions, "physical partition")
        ),
    ))
}

pub(super) fn large_partition(estimates: &CandidateEstimates) -> Option<Finding> {
    let growth = &estimates.growth;
    let soon = growth.days_to_20_gb.filter(|days| *days < 365.0);
    if growth.largest_bytes < LARGE_PARTITION_BYTES && soon.is_none() {
        return None;
    }
    let key = estimates.by_bytes.top.first().map(|top| top.key.clone()).unwrap_or_default();
    let when = match soon {
        Some(days) if days <= 0.0 => " Writes to it are refused there.".to_owned(),
        Some(days) => {
            format!(" At the stated growth it is there in {}.", counted(days.ceil(), "day"))
        }
        None => String::new(),
    };
    Some(Finding::new(
        LARGE_PARTITION,
        Severity::Warning,
        [LARGE_PARTITION_BYTES, growth.largest_bytes],
        if growth.largest_bytes < LARGE_PARTITION_BYTES { LIMITS_SOURCE } else { ALERTS_SOURCE },
        format!(
            "The largest logical partition, {key}, has {:.1} GB of the {:.0} GB that one can have.{when} Add a \
             period or a second level to the key.",
            growth.largest_bytes / GB,
            PARTITION_BYTES / GB
        ),
    ))
}

pub(super) fn throughput_limit(estimates: &CandidateEstimates) -> Option<Finding> {
    let growth = &estimates.growth;
    let busiest = growth.busiest_request_units_per_second?;
    // Far below the limit, a straight line into the future says nothing.
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
    Some(Finding::new(
        THROUGHPUT_LIMIT,
        Severity::Warning,
        [PARTITION_REQUEST_UNITS, busiest],
        LIMITS_SOURCE,
        format!(
            "The busiest logical partition needs {} RU/s at its peak, of the {} that one can have.{when}",
            whole(busiest),
            whole(PARTITION_REQUEST_UNITS)
        ),
    ))
}

pub(super) fn spanning_transaction(estimates: &CandidateEstimates) -> Option<Finding> {
    let spans: Vec<_> = estimates
        .requests
        .iter()
        .filter(|request| request.transaction_fits == Some(false))
        .map(|request| format!("`{}`", request.kind))
        .collect();
    (!spans.is_empty()).then(|| Finding::new(SPANNING_TRANSACTION, Severity::Warning, [0.0, crate::words::float(spans.len() as u64)], "service limit, https://learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch", format!(
            "A transaction has items of one logical partition, and this key does not put them there: {}.",
            spans.join(", ")
        )))
}
