//! Checks of requests, and of the limits of a logical partition.

use super::{
    ALERTS, CHECKLIST, CROSS_PARTITION_QUERIES, FAR_REQUEST_UNITS, LARGE_BYTES, LARGE_PARTITION,
    LEAST_ALIGNED, LIMITS, MOST_CROSS_PARTITION, NOT_ALIGNED, SPANNING_TRANSACTION,
    THROUGHPUT_LIMIT,
};
use crate::{
    limits::{GB, PARTITION_BYTES, PARTITION_REQUEST_UNITS},
    report::{Finding, Report, Severity},
    words::{counted, percent, whole},
};

pub(super) fn not_aligned(report: &Report) -> Option<Finding> {
    let aligned = report.aligned.filter(|aligned| *aligned < LEAST_ALIGNED)?;
    let worst =
        report.requests.iter().filter(|request| !request.names.is_one_place()).max_by(|a, b| {
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
        sentence: format!(
            "{} of the requests name the key, or the first levels of one with levels.{worst}",
            percent(aligned)
        ),
    })
}

pub(super) fn cross_partition_queries(report: &Report) -> Option<Finding> {
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

pub(super) fn large_partition(report: &Report) -> Option<Finding> {
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

pub(super) fn throughput_limit(report: &Report) -> Option<Finding> {
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
            "The busiest logical partition needs {} RU/s at its peak, of the {} that one can have.{when}",
            whole(busiest),
            whole(PARTITION_REQUEST_UNITS)
        ),
    })
}

pub(super) fn spanning_transaction(report: &Report) -> Option<Finding> {
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
