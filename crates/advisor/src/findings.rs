//! The anti-patterns of the partitioning guide, its checks, and the limits of the service.
//!
//! A finding is a [`Severity::Warning`] unless the largest logical partition needs more than [`FAR_DAYS`] to 20 GB and
//! the busiest has less than [`FAR_REQUEST_UNITS`] at its peak: then uneven or few partitions do no harm. Findings
//! that cost or fail at any size stay warnings.

use cosmos_model::partitioning::KeyPart;
use rayon::prelude::*;

use crate::{
    checks::{
        ALERTS_SOURCE, CHANGING_KEY, CHECKLIST_SOURCE, CROSS_PARTITION_QUERIES, FAR_DAYS,
        FAR_REQUEST_UNITS, HOT_PARTITION, HOT_SHARE, HYPERFRAGMENTATION, INVALID_KEY,
        LARGE_PARTITION, LARGE_PARTITION_BYTES, LIMITS_SOURCE, LONG_KEY, LOW_CARDINALITY,
        MAX_CROSS_PARTITION_SHARE, MIN_ALIGNED_SHARE, MIN_KEYS, MIN_PARTITION_ITEMS,
        MIN_WINDOW_WRITES, MISSING_KEY, NOT_ALIGNED, NULL_KEY, SKEWED_DISTRIBUTION, SKEWED_GINI,
        SPANNING_TRANSACTION, THROUGHPUT_LIMIT,
    },
    counts::SampleCounts,
    estimates::{estimate, model::ContainerModel},
    limits::{GB, PARTITION_BYTES, PARTITION_REQUEST_UNITS},
    report::{CandidateEstimates, CandidateReport, Finding, Severity},
    request::RequestOperation,
    words::{counted, float, percent, whole},
};

mod unknown;

/// Returns the estimates of each candidate, in their order, with its anti-patterns and failed checks.
pub(crate) fn reports(counts: &SampleCounts) -> Vec<CandidateReport> {
    let model = ContainerModel::new(counts);
    let report = |candidate| {
        let estimates = estimate(candidate, &model);
        let findings = findings(&estimates, &model);
        let unknown = unknown::unknown(&estimates, &model);
        CandidateReport { estimates, findings, unknown }
    };
    counts.candidates.par_iter().with_max_len(1).map(report).collect()
}

fn findings(estimates: &CandidateEstimates, model: &ContainerModel<'_>) -> Vec<Finding> {
    let mut findings: Vec<_> = [
        low_cardinality(estimates),
        hot_partition(estimates),
        hyperfragmentation(estimates, model),
        changing_key(estimates, model),
        skewed_distribution(estimates),
        not_aligned(estimates),
        cross_partition_queries(estimates),
        large_partition(estimates),
        throughput_limit(estimates),
        spanning_transaction(estimates),
    ]
    .into_iter()
    .flatten()
    .chain(keys_of_items(estimates))
    .collect();
    if limits_are_far(estimates) {
        let by_size = [LOW_CARDINALITY, HOT_PARTITION, SKEWED_DISTRIBUTION];
        for finding in findings.iter_mut().filter(|finding| by_size.contains(&finding.code)) {
            finding.severity = Severity::Notice;
        }
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn limits_are_far(estimates: &CandidateEstimates) -> bool {
    let growth = &estimates.growth;
    let busiest = growth.busiest_request_units_per_second;
    growth.items_per_day.is_some()
        && growth.days_to_20_gb.is_none_or(|days| days > FAR_DAYS)
        && busiest.is_some_and(|busiest| busiest < FAR_REQUEST_UNITS)
}

fn low_cardinality(estimates: &CandidateEstimates) -> Option<Finding> {
    let n = estimates.cardinality.value;
    let grows = if estimates.growth.ends_with_period {
        "Each period adds keys, but those of one period stay as few as they are."
    } else {
        "Data and requests cannot spread over more partitions than there are keys. Join the key with \
         another property, a period or a bucket, or take one with more values."
    };
    let keys = counted(n, "value");
    let sentence = format!("The key has {keys}, and fewer than {MIN_KEYS} are few. {grows}");
    (n < MIN_KEYS).then(|| Finding::new(LOW_CARDINALITY, [MIN_KEYS, n], CHECKLIST_SOURCE, sentence))
}

fn hot_partition(estimates: &CandidateEstimates) -> Option<Finding> {
    let hotness = estimates.hotness.as_ref().filter(|hot| hot.writes >= MIN_WINDOW_WRITES);
    let by_writes = hotness.map(|hot| {
        let window = match hot.window_seconds {
            60 => "minute",
            3_600 => "hour",
            _ => "day",
        };
        (hot.share, format!("of the writes of the busiest {window}"), hot.key.clone())
    });
    // Without times and requests, the items tell the share.
    let load = estimates.by_load();
    let has_load = estimates.by_request_units.is_some();
    let of = if has_load { "of the request units" } else { "of the items" };
    let by_load = (has_load || by_writes.is_none())
        .then(|| (load.largest, of.to_owned(), load.largest_key()));
    let worst = by_writes.into_iter().chain(by_load).max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, of, key) = worst.filter(|(share, ..)| *share > HOT_SHARE)?;
    let sentence = format!(
        "{} {of} go to one logical partition, {key}, which cannot do more than {} RU/s. Spread it: \
         join the key with a bucket, or with a property that tells concurrent writes apart.",
        percent(share),
        whole(PARTITION_REQUEST_UNITS)
    );
    Some(Finding::new(HOT_PARTITION, [HOT_SHARE, share], ALERTS_SOURCE, sentence))
}

fn hyperfragmentation(
    estimates: &CandidateEstimates,
    model: &ContainerModel<'_>,
) -> Option<Finding> {
    let mean = estimates.by_items.mean;
    if float(estimates.items) < MIN_KEYS || mean >= MIN_PARTITION_ITEMS {
        return None;
    }
    let mut kinds = model.kinds.iter();
    let queries = kinds.any(|(kind, _)| kind.request.operation == RequestOperation::Query);
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
    let source = "guide, Anti-Patterns 1, Hyperfragmentation";
    let sentence = format!(
        "A logical partition has {mean:.1} items on average: almost one partition for each item. {why}"
    );
    let measured = [MIN_PARTITION_ITEMS, mean];
    Some(Finding { severity, ..Finding::new(HYPERFRAGMENTATION, measured, source, sentence) })
}

fn changing_key(estimates: &CandidateEstimates, model: &ContainerModel<'_>) -> Option<Finding> {
    let (request, path) = model.kinds.iter().find_map(|(kind, _)| {
        let mut paths = estimates.strategy.parts().map(KeyPart::path);
        Some((&kind.request, paths.find(|path| kind.request.sets_one_of(&[path]))?))
    })?;
    let per_day = request.per_day();
    let often = per_day.map_or(String::new(), |n| format!(", {} a day", counted(n, "time")));
    let source = "guide, Anti-Patterns 4, Frequently Changing Partition Keys";
    let sentence = format!(
        "`{}` changes {path}, of which the key is made{often}. The service cannot change the key of an item: it \
         must be deleted in one partition and created in the other, without a transaction.",
        request.kind
    );
    Some(Finding::new(CHANGING_KEY, [0.0, per_day.unwrap_or(1.0)], source, sentence))
}

fn skewed_distribution(estimates: &CandidateEstimates) -> Option<Finding> {
    let request_units = estimates.by_request_units.as_ref().map(|by| (by, "request units"));
    let all = [(&estimates.by_items, "items"), (&estimates.by_bytes, "bytes")];
    let all = all.into_iter().chain(request_units);
    let (by, what) = all.max_by(|(a, _), (b, _)| a.gini.total_cmp(&b.gini))?;
    let gini = by.gini;
    let sentence = format!(
        "The {what} are uneven over the logical partitions: the Gini coefficient is {gini:.2}, and the \
         largest has {} of them. The large ones reach a limit while the others are idle.",
        percent(by.largest)
    );
    (gini > SKEWED_GINI)
        .then(|| Finding::new(SKEWED_DISTRIBUTION, [SKEWED_GINI, gini], ALERTS_SOURCE, sentence))
}

fn not_aligned(estimates: &CandidateEstimates) -> Option<Finding> {
    let aligned = estimates.aligned.filter(|aligned| *aligned < MIN_ALIGNED_SHARE)?;
    let misfits = estimates.requests.iter().filter(|request| !request.names.is_one_place());
    let worst = misfits.max_by(|a, b| {
        let [a, b] = [a, b].map(|r| r.request_units_per_day.unwrap_or(r.request_units));
        a.total_cmp(&b)
    });
    let worst = worst.map_or(String::new(), |request| {
        let units = request.request_units;
        format!(" The dearest that does not is `{}`, {units:.1} RU each.", request.kind)
    });
    let sentence = format!(
        "{} of the requests name the key, or the first levels of one with levels.{worst}",
        percent(aligned)
    );
    Some(Finding::new(NOT_ALIGNED, [MIN_ALIGNED_SHARE, aligned], CHECKLIST_SOURCE, sentence))
}

fn cross_partition_queries(estimates: &CandidateEstimates) -> Option<Finding> {
    let share = estimates.cross_partition.filter(|share| *share > MAX_CROSS_PARTITION_SHARE)?;
    let sentence = format!(
        "{} of the queries visit all partitions. Their cost grows with the container: it has {} now.",
        percent(share),
        counted(estimates.physical_partitions, "physical partition")
    );
    let measured = [MAX_CROSS_PARTITION_SHARE, share];
    Some(Finding::new(CROSS_PARTITION_QUERIES, measured, ALERTS_SOURCE, sentence))
}

fn large_partition(estimates: &CandidateEstimates) -> Option<Finding> {
    let growth = &estimates.growth;
    let bytes = growth.largest_bytes;
    let when = match growth.days_to_20_gb.filter(|days| *days < 365.0) {
        Some(days) if days <= 0.0 => " Writes to it are refused there.".to_owned(),
        Some(days) => {
            format!(" At the stated growth it is there in {}.", counted(days.ceil(), "day"))
        }
        None if bytes < LARGE_PARTITION_BYTES => return None,
        None => String::new(),
    };
    let source = if bytes < LARGE_PARTITION_BYTES { LIMITS_SOURCE } else { ALERTS_SOURCE };
    let sentence = format!(
        "The largest logical partition, {}, has {:.1} GB of the {:.0} GB that one can have.{when} Add a \
         period or a second level to the key.",
        estimates.by_bytes.largest_key(),
        bytes / GB,
        PARTITION_BYTES / GB
    );
    Some(Finding::new(LARGE_PARTITION, [LARGE_PARTITION_BYTES, bytes], source, sentence))
}

fn throughput_limit(estimates: &CandidateEstimates) -> Option<Finding> {
    let busiest = estimates.growth.busiest_request_units_per_second?;
    // Far below the limit, a straight line into the future says nothing.
    let days = estimates.growth.days_to_10_000_ru.filter(|_| busiest >= FAR_REQUEST_UNITS);
    let when = match days.filter(|days| *days < 365.0) {
        Some(days) if days > 0.0 => format!(
            " If requests grow as the items do, it is there in {}.",
            counted(days.ceil(), "day")
        ),
        None if busiest < PARTITION_REQUEST_UNITS => return None,
        _ => " Requests beyond are refused with 429.".to_owned(),
    };
    let sentence = format!(
        "The busiest logical partition needs {} RU/s at its peak, of the {} that one can have.{when}",
        whole(busiest),
        whole(PARTITION_REQUEST_UNITS)
    );
    let measured = [PARTITION_REQUEST_UNITS, busiest];
    Some(Finding::new(THROUGHPUT_LIMIT, measured, LIMITS_SOURCE, sentence))
}

fn spanning_transaction(estimates: &CandidateEstimates) -> Option<Finding> {
    let spans = estimates.requests.iter().filter(|r| r.transaction_fits == Some(false));
    let spans: Vec<_> = spans.map(|request| format!("`{}`", request.kind)).collect();
    let source =
        "service limit, https://learn.microsoft.com/azure/cosmos-db/nosql/transactional-batch";
    let sentence = format!(
        "A transaction has items of one logical partition, and this key does not put them there: {}.",
        spans.join(", ")
    );
    let measured = [0.0, float(spans.len() as u64)];
    (!spans.is_empty()).then(|| Finding::new(SPANNING_TRANSACTION, measured, source, sentence))
}

fn keys_of_items(estimates: &CandidateEstimates) -> impl Iterator<Item = Finding> {
    let keys = &estimates.keys;
    let items = estimates.items;
    let together = if estimates.strategy.is_computed() {
        "the key cannot be made."
    } else {
        "all such items share one logical partition."
    };
    let properties = "guide, Partition Key Properties";
    let service = "service, https://learn.microsoft.com/azure/cosmos-db/partitioning-overview";
    [
        (MISSING_KEY, keys.missing, properties, format!("lack a property of the key: {together}")),
        (NULL_KEY, keys.null, properties, format!("have null in a property of the key: {together}")),
        (
            INVALID_KEY,
            keys.not_scalar + keys.not_a_time,
            service,
            "have an object or an array in a property of the key, or no time where its period is the key."
                .to_owned(),
        ),
        (
            LONG_KEY,
            keys.too_long,
            LIMITS_SOURCE,
            "have a key of more than 2,048 bytes, which the service refuses.".to_owned(),
        ),
    ]
    .into_iter()
    .filter(|(_, n, ..)| *n > 0)
    .map(move |(code, n, source, what)| {
        let sentence = format!("{} of {items} {what}", counted(float(n), "item"));
        Finding::new(code, [0.0, float(n) / float(items.max(1))], source, sentence)
    })
}
