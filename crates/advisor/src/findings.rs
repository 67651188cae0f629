//! The anti-patterns of the partitioning guide, its checks, and the limits of the service. A finding is a warning, unless
//! limits are far and it is about uneven or few partitions, which do no harm then.

use rayon::prelude::*;

use crate::{
    checks::{self, FAR_DAYS, FAR_REQUEST_UNITS, GB, MIN_WINDOW_WRITES, PARTITION_REQUEST_UNITS},
    counts::SampleCounts,
    estimates::{ContainerModel, estimate},
    report::{CandidateReport, Finding, Severity},
    request::RequestOperation,
    words::{counted, float, percent, whole},
};

pub(crate) fn reports(counts: &SampleCounts) -> Vec<CandidateReport> {
    let model = ContainerModel::new(counts);
    let report = |candidate| {
        let mut report = estimate(candidate, &model);
        report.findings = findings(&report);
        report.unknown = unknown(&report, &model);
        report
    };
    counts.candidates.par_iter().with_max_len(1).map(report).collect()
}

fn findings(report: &CandidateReport) -> Vec<Finding> {
    let found = [
        low_cardinality(report),
        hot_partition(report),
        hyperfragmentation(report),
        changing_key(report),
        skewed_distribution(report),
        not_aligned(report),
        cross_partition_queries(report),
        large_partition(report),
        throughput_limit(report),
        spanning_transaction(report),
    ];
    let mut findings: Vec<_> = found.into_iter().flatten().chain(keys_of_items(report)).collect();
    if limits_are_far(report) {
        let by_size = [checks::LOW_CARDINALITY, checks::HOT_PARTITION, checks::SKEWED_DISTRIBUTION];
        let is_by_size = |finding: &&mut Finding| by_size.iter().any(|it| it.code == finding.code);
        for finding in findings.iter_mut().filter(is_by_size) {
            finding.severity = Severity::Notice;
        }
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

fn limits_are_far(report: &CandidateReport) -> bool {
    let growth = &report.growth;
    let busiest = growth.busiest_request_units_per_second;
    growth.items_per_day.is_some()
        && growth.days_to_20_gb.is_none_or(|days| days > FAR_DAYS)
        && busiest.is_some_and(|busiest| busiest < FAR_REQUEST_UNITS)
}

fn low_cardinality(report: &CandidateReport) -> Option<Finding> {
    let n = report.cardinality.value;
    let few = checks::LOW_CARDINALITY.threshold;
    let grows = if report.growth.ends_with_period {
        "Each period adds keys, but those of one period stay as few as they are."
    } else {
        "Data and requests cannot spread over more partitions than there are keys. Join the key with \
         another property, a period or a bucket, or take one with more values."
    };
    let keys = counted(n, "value");
    let sentence = format!("The key has {keys}, and fewer than {few} are few. {grows}");
    (n < few).then(|| checks::LOW_CARDINALITY.finding(n, sentence))
}

fn hot_partition(report: &CandidateReport) -> Option<Finding> {
    let hotness = report.hotness.as_ref().filter(|hot| hot.writes >= MIN_WINDOW_WRITES);
    let by_writes = hotness.map(|hot| {
        let window = match hot.window_seconds {
            60 => "minute",
            3_600 => "hour",
            _ => "day",
        };
        (hot.share, format!("of the writes of the busiest {window}"), hot.key.clone())
    });
    // Without times and requests, the items tell the share.
    let load = report.by_load();
    let has_load = report.by_request_units.is_some();
    let of = if has_load { "of the request units" } else { "of the items" };
    let by_load = (has_load || by_writes.is_none())
        .then(|| (load.largest, of.to_owned(), load.largest_key()));
    let worst = by_writes.into_iter().chain(by_load).max_by(|a, b| a.0.total_cmp(&b.0));
    let (share, of, key) = worst.filter(|(share, ..)| *share > checks::HOT_PARTITION.threshold)?;
    let sentence = format!(
        "{} {of} go to one logical partition, {key}, which cannot do more than {} RU/s. Spread it: \
         join the key with a bucket, or with a property that tells concurrent writes apart.",
        percent(share),
        whole(PARTITION_REQUEST_UNITS)
    );
    Some(checks::HOT_PARTITION.finding(share, sentence))
}

fn hyperfragmentation(report: &CandidateReport) -> Option<Finding> {
    let check = checks::HYPERFRAGMENTATION;
    let mean = report.by_items.mean;
    if float(report.items) < checks::LOW_CARDINALITY.threshold || mean >= check.threshold {
        return None;
    }
    let queries = report.requests.iter().any(|r| r.operation == RequestOperation::Query);
    let many_cross = checks::CROSS_PARTITION_QUERIES.threshold;
    let few_cross = report.cross_partition.is_some_and(|share| share <= many_cross);
    let (severity, why) = match report.aligned {
        // Where each request names the key, one item a partition is the best.
        Some(aligned) if aligned >= 1.0 && !queries => return None,
        Some(aligned) if few_cross || aligned >= checks::NOT_ALIGNED.threshold => (
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
    let sentence = format!(
        "A logical partition has {mean:.1} items on average: almost one partition for each item. {why}"
    );
    Some(Finding { severity, ..check.finding(mean, sentence) })
}

fn changing_key(report: &CandidateReport) -> Option<Finding> {
    let mut requests = report.requests.iter();
    let (request, path) = requests.find_map(|r| Some((r, r.changes.as_ref()?)))?;
    let per_day = request.per_day;
    let often = per_day.map_or(String::new(), |n| format!(", {} a day", counted(n, "time")));
    let sentence = format!(
        "`{}` changes {path}, of which the key is made{often}. The service cannot change the key of an item: it \
         must be deleted in one partition and created in the other, without a transaction.",
        request.kind
    );
    Some(checks::CHANGING_KEY.finding(per_day.unwrap_or(1.0), sentence))
}

fn skewed_distribution(report: &CandidateReport) -> Option<Finding> {
    let request_units = report.by_request_units.as_ref().map(|by| (by, "request units"));
    let all = [(&report.by_items, "items"), (&report.by_bytes, "bytes")];
    let all = all.into_iter().chain(request_units);
    let (by, what) = all.max_by(|(a, _), (b, _)| a.gini.total_cmp(&b.gini))?;
    let gini = by.gini;
    let check = checks::SKEWED_DISTRIBUTION;
    let sentence = format!(
        "The {what} are uneven over the logical partitions: the Gini coefficient is {gini:.2}, and the \
         largest has {} of them. The large ones reach a limit while the others are idle.",
        percent(by.largest)
    );
    (gini > check.threshold).then(|| check.finding(gini, sentence))
}

fn not_aligned(report: &CandidateReport) -> Option<Finding> {
    let check = checks::NOT_ALIGNED;
    let aligned = report.aligned.filter(|aligned| *aligned < check.threshold)?;
    let misfits = report.requests.iter().filter(|request| !request.names.is_one_place());
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
    Some(check.finding(aligned, sentence))
}

fn cross_partition_queries(report: &CandidateReport) -> Option<Finding> {
    let check = checks::CROSS_PARTITION_QUERIES;
    let share = report.cross_partition.filter(|share| *share > check.threshold)?;
    let sentence = format!(
        "{} of the queries visit all partitions. Their cost grows with the container: it has {} now.",
        percent(share),
        counted(report.physical_partitions, "physical partition")
    );
    Some(check.finding(share, sentence))
}

fn large_partition(report: &CandidateReport) -> Option<Finding> {
    let check = checks::LARGE_PARTITION;
    let bytes = report.growth.largest_bytes;
    let is_large = bytes >= check.threshold;
    let when = match report.growth.days_to_20_gb.filter(|days| *days < 365.0) {
        Some(days) if days <= 0.0 => " Writes to it are refused there.".to_owned(),
        Some(days) => {
            format!(" At the stated growth it is there in {}.", counted(days.ceil(), "day"))
        }
        None if !is_large => return None,
        None => String::new(),
    };
    let sentence = format!(
        "The largest logical partition, {}, has {:.1} GB of the {:.0} GB that one can have.{when} Add a \
         period or a second level to the key.",
        report.by_bytes.largest_key(),
        bytes / GB,
        checks::PARTITION_BYTES / GB
    );
    let finding = check.finding(bytes, sentence);
    Some(if is_large { finding } else { Finding { source: checks::LIMITS, ..finding } })
}

fn throughput_limit(report: &CandidateReport) -> Option<Finding> {
    let busiest = report.growth.busiest_request_units_per_second?;
    // Far below the limit, a straight line into the future says nothing.
    let days = report.growth.days_to_10_000_ru.filter(|_| busiest >= FAR_REQUEST_UNITS);
    let when = match days.filter(|days| *days < 365.0) {
        Some(days) if days > 0.0 => {
            let days = counted(days.ceil(), "day");
            format!(" If requests grow as the items do, it is there in {days}.")
        }
        None if busiest < PARTITION_REQUEST_UNITS => return None,
        _ => " Requests beyond are refused with 429.".to_owned(),
    };
    let sentence = format!(
        "The busiest logical partition needs {} RU/s at its peak, of the {} that one can have.{when}",
        whole(busiest),
        whole(PARTITION_REQUEST_UNITS)
    );
    Some(checks::THROUGHPUT_LIMIT.finding(busiest, sentence))
}

fn spanning_transaction(report: &CandidateReport) -> Option<Finding> {
    let spans = report.requests.iter().filter(|r| r.transaction_fits == Some(false));
    let spans: Vec<_> = spans.map(|request| format!("`{}`", request.kind)).collect();
    let sentence = format!(
        "A transaction has items of one logical partition, and this key does not put them there: {}.",
        spans.join(", ")
    );
    let measured = float(spans.len() as u64);
    (!spans.is_empty()).then(|| checks::SPANNING_TRANSACTION.finding(measured, sentence))
}

fn keys_of_items(report: &CandidateReport) -> impl Iterator<Item = Finding> {
    let keys = &report.keys;
    let items = report.items;
    let together = if report.strategy.is_computed() {
        "the key cannot be made."
    } else {
        "all such items share one logical partition."
    };
    let invalid = "have an object or an array in a property of the key, or no time where its period is the key.";
    let long = "have a key of more than 2,048 bytes, which the service refuses.";
    let found = [
        (checks::MISSING_KEY, keys.missing, format!("lack a property of the key: {together}")),
        (checks::NULL_KEY, keys.null, format!("have null in a property of the key: {together}")),
        (checks::INVALID_KEY, keys.not_scalar + keys.not_a_time, invalid.to_owned()),
        (checks::LONG_KEY, keys.too_long, long.to_owned()),
    ];
    found.into_iter().filter(|(_, n, _)| *n > 0).map(move |(check, n, what)| {
        let sentence = format!("{} of {items} {what}", counted(float(n), "item"));
        check.finding(float(n) / float(items.max(1)), sentence)
    })
}

fn unknown(report: &CandidateReport, model: &ContainerModel<'_>) -> Vec<String> {
    let no_requests = report.requests.is_empty();
    let frequencies = report.has_frequency();
    let hot = report.hotness.as_ref();
    let is_busy = hot.is_some_and(|hot| hot.writes >= MIN_WINDOW_WRITES);
    let fixed = [
        (
            no_requests,
            "Which requests come, so what they cost and whether they name the key: there are no requests.",
        ),
        (
            !no_requests && !frequencies,
            "Request units a day: no request has a frequency, so each kind counts the same.",
        ),
        (
            report.growth.items_per_day.is_none(),
            "When a partition reaches 20 GB: neither a growth nor the frequency of a create is given.",
        ),
        (
            frequencies && model.options.items_in_container.is_none(),
            "When a partition reaches 10,000 RU/s: the number of items in the container is not given.",
        ),
        (
            report.times.is_none(),
            "Whether writes come together in one partition at a time: no item has a time that can be read.",
        ),
        (
            is_busy && hot.is_some_and(|hot| hot.window_seconds > 60),
            "The busiest minute: no minute has enough writes in the sample to tell; a longer time is shown.",
        ),
        (
            frequencies,
            "Which keys are read most: values are taken to be asked for as often as items have them. A single popular \
             item or key may be read far more; `tributary-partition monitor` shows the hot keys of the current one.",
        ),
    ];
    let fixed = fixed.into_iter().filter(|(holds, _)| *holds);
    let mut unknown: Vec<String> = fixed.map(|(_, sentence)| sentence.to_owned()).collect();
    unknown.extend(report.times.as_ref().filter(|times| !times.are_of_creation).map(|times| {
        format!(
            "Whether writes come together in one partition at a time: {} is from {} to {}, as after an import \
             or a copy. --time names a property with the time of creation.",
            times.path, times.oldest, times.newest
        )
    }));
    unknown.extend(hot.filter(|_| !is_busy).map(|hot| {
        let writes = hot.writes;
        format!("The busiest minute: even the busiest day of the sample has {writes} writes, too few to tell.")
    }));
    let finds_nothing =
        model.kinds.iter().map(|(kind, _)| kind).filter(|kind| {
            kind.found.items == 0 && kind.request.operation != RequestOperation::Create
        });
    unknown.extend(finds_nothing.map(|kind| {
        format!("What `{}` finds: no item of the sample has what it asks for.", kind.request.kind)
    }));
    if model.draw.scale > 1.0 {
        let drawn = model.options.whole_keys.as_ref();
        unknown.push(format!(
            "The other {} items. Those of the sample are taken to be drawn at random, {}: what a value finds and \
             how large the partitions are is estimated, and how many keys there are (between {} and {}).",
            whole(model.n_items - float(report.items)),
            drawn.map_or("each item by itself".to_owned(), |key| format!("each {key} with all its items")),
            whole(report.cardinality.low),
            whole(report.cardinality.high)
        ));
    }
    unknown
}
