//! The reasons for the first place, in plain sentences.

use super::{AdviceQuestion, RankCertainty, RankedCandidate, SAME_COST_FACTOR, SecondCopy};
use crate::checks::{MAX_CROSS_PARTITION_SHARE, MIN_ALIGNED_SHARE};
use crate::report::{CreationTimes, KeyRisk};
use crate::words::{about, counted, float, percent, thousands, whole};

/// The smallest risk that is told, as a part of the request units.
const MIN_TOLD_RISK: f64 = 0.005;

/// The days beyond which a limit is not told: a century.
const CENTURY_DAYS: f64 = 36_500.0;

pub(super) fn why(
    ranked: &[RankedCandidate],
    alternatives: &[SecondCopy],
    certainty: Option<&RankCertainty>,
    question: &AdviceQuestion,
) -> Vec<String> {
    let Some((best, others)) = ranked.split_first() else { return Vec::new() };
    let mut why = vec![headline(best, ranked.len())];
    if let Some(sentence) = no_key(ranked, alternatives) {
        why.insert(0, sentence);
    }
    if let Some(certainty) = certainty {
        let position = if certainty.cheaper.is_some() { 0 } else { why.len() };
        why.insert(position, certainty.sentence(&best.report.estimates.strategy));
    }
    why.extend(risks(best));
    why.push(partitions(best));
    why.extend(growth(best));
    why.extend(times(best));
    if let Some(aligned) = best.report.estimates.aligned {
        why.push(alignment(best, aligned));
    }
    if best.report.estimates.physical_partitions <= 1.0
        && !best.report.estimates.requests.is_empty()
    {
        why.push(
            "The container has one physical partition at this size: there, a query that does not name the key \
             costs little more than one that does. --items-in-container says what a larger one would cost."
                .to_owned(),
        );
    }
    if let Some(next) = others.first() {
        why.push(compared(best, next, "The next"));
    }
    if let Some(current) = &question.current {
        why.extend(of_current(ranked, best, current));
    }
    why
}

fn headline(best: &RankedCandidate, n_candidates: usize) -> String {
    let strategy = &best.report.estimates.strategy;
    let costs = match best.request_units {
        Some(request_units)
            if best.report.estimates.requests.iter().any(|r| r.per_day.is_some()) =>
        {
            let report = &best.report.estimates.request_units_per_day;
            format!(
                "its requests take about {} RU a day (between {} and {})",
                about(request_units),
                about(report.low),
                about(report.high)
            )
        }
        Some(request_units) => {
            format!("one request of each kind takes about {} RU together", about(request_units))
        }
        None => "no requests are known, so only risks were compared".to_owned(),
    };
    let risks = match best.warnings().as_slice() {
        [] => "no warning was found".to_owned(),
        [one] => format!("one warning was found ({one})"),
        several => format!("{} warnings were found ({})", several.len(), several.join(", ")),
    };
    let of =
        if n_candidates == 1 { String::new() } else { format!(" of {n_candidates} candidates") };
    let works = if best.works {
        ""
    } else {
        " None of them keeps each transaction in one logical partition, so none works as the requests are."
    };
    format!("{strategy} is the best{of}: {costs}, and {risks}.{works}")
}

/// Returns a sentence about the costs of the risks, where they cost anything.
fn risks(best: &RankedCandidate) -> Option<String> {
    let request_units = best.request_units.filter(|units| *units > 0.0)?;
    let share = |risk: &KeyRisk| risk.request_units / request_units;
    let counted = best.report.estimates.risks.iter().filter(|risk| share(risk) > MIN_TOLD_RISK);
    let counted: Vec<_> =
        counted.map(|risk| format!("{} {}", risk.code, percent(share(risk)))).collect();
    (!counted.is_empty()).then(|| {
        let all = percent(best.score / request_units - 1.0);
        format!("Its risks count as {all} more: {}.", counted.join(", "))
    })
}

/// Returns the sentences about the number of logical partitions and the largest one.
fn partitions(best: &RankedCandidate) -> String {
    let estimates = &best.report.estimates;
    let about = if estimates.cardinality.exact { "" } else { "about " };
    let largest = estimates.by_items.top.first();
    let largest = largest.map_or_else(String::new, |top| {
        format!(" The largest, {}, has {} of the items.", top.key, percent(top.share))
    });
    let items = thousands(estimates.items);
    format!(
        "By the {items} items of the sample, there are {about}{}, with {} items each on average.{largest}",
        counted(estimates.cardinality.value, "logical partition"),
        whole_or_tenths(estimates.by_items.mean),
    )
}

/// Returns a sentence about the limits of a logical partition, when the growth is known.
fn growth(best: &RankedCandidate) -> Option<String> {
    let growth = &best.report.estimates.growth;
    let items = growth.items_per_day.filter(|items| *items > 0.0)?;
    let limits = [(growth.days_to_20_gb, "20 GB"), (growth.days_to_10_000_ru, "10,000 RU/s")];
    let near = limits.iter().filter(|(days, _)| days.is_some_and(|days| days < CENTURY_DAYS));
    let reached: Vec<_> =
        near.filter_map(|(days, limit)| Some(format!("{limit} {}", time((*days)?)))).collect();
    let largest = if reached.is_empty() {
        "no logical partition reaches a limit of the service within a century".to_owned()
    } else {
        format!("the largest logical partition reaches {}", reached.join(", and "))
    };
    let period = if growth.ends_with_period { ", since its period ends" } else { "" };
    let period = if reached.is_empty() { period } else { "" };
    Some(format!("With {} new items a day, {largest}{period}.", about(items)))
}

/// Returns a sentence about the times that were used.
fn times(best: &RankedCandidate) -> Option<String> {
    let estimates = &best.report.estimates;
    let times = estimates.times.as_ref().filter(|times| times.are_of_creation);
    times.map(|CreationTimes { path, oldest, newest, left_out, .. }| {
        let left_out = match *left_out {
            0 => String::new(),
            n => format!(" {} with other times left out.", counted(float(n), "item")),
        };
        format!("The time of creation is {path}, from {oldest} to {newest}.{left_out}")
    })
}

/// Returns a number of days as a time from now.
fn time(days: f64) -> String {
    match days {
        _ if days < 1.0 => "at once".to_owned(),
        _ if days < 730.0 => format!("in {} days", about(days)),
        _ => format!("in {} years", about(days / 365.0)),
    }
}

fn alignment(best: &RankedCandidate, aligned: f64) -> String {
    let misfits: Vec<_> = best
        .report
        .estimates
        .requests
        .iter()
        .filter(|request| !request.names.is_one_place())
        .map(|request| format!("\"{}\"", request.kind))
        .collect();
    let rest = match misfits.as_slice() {
        [] => String::new(),
        [one] => format!(" {one} does not."),
        several => format!(" {} do not.", several.join(", ")),
    };
    let levels = best.report.estimates.strategy.levels().len();
    let or_levels = if levels > 1 { ", or the first levels of the key" } else { "" };
    format!("{} of the requests name one logical partition{or_levels}.{rest}", percent(aligned))
}

fn compared(best: &RankedCandidate, other: &RankedCandidate, name: &str) -> String {
    let strategy = &other.report.estimates.strategy;
    if best.works && !other.works {
        return format!(
            "{name}, {strategy}, does not work: a transaction would span logical partitions."
        );
    }
    let costs = match (best.request_units, other.request_units) {
        (Some(best), Some(other)) if best > 0.0 => {
            let factor = other / best;
            if factor > SAME_COST_FACTOR {
                format!("takes {factor:.1} times the request units")
            } else if factor < 1.0 / SAME_COST_FACTOR {
                format!("takes {} of the request units", percent(factor))
            } else {
                "takes about the same request units".to_owned()
            }
        }
        _ => format!(
            "has {} of the bytes in its largest partition",
            percent(other.report.estimates.by_bytes.largest)
        ),
    };
    let difference = |of: &RankedCandidate, without: &RankedCandidate| {
        let mut codes = of.warnings();
        codes.retain(|code| !without.warnings().contains(code));
        codes.join(", ")
    };
    let more = difference(other, best);
    let less = difference(best, other);
    let risks = match (more.as_str(), less.as_str()) {
        ("", "") => String::new(),
        ("", less) => format!(" and does not have {less}"),
        (more, _) => format!(" and has {more}"),
    };
    format!("{name}, {strategy}, {costs}{risks}.")
}

fn of_current(
    ranked: &[RankedCandidate],
    best: &RankedCandidate,
    current: &cosmos_model::partitioning::KeyStrategy,
) -> Vec<String> {
    let Some(standing) =
        ranked.iter().find(|standing| standing.report.estimates.strategy == *current)
    else {
        return Vec::new();
    };
    if standing.place == 1 {
        return vec![format!("{current} is the key that the container has: keep it.")];
    }
    let name = format!("The key that the container has (number {} here)", standing.place);
    vec![compared(best, standing, &name)]
}

fn whole_or_tenths(number: f64) -> String {
    if number < 10.0 { format!("{number:.1}") } else { whole(number) }
}

/// Returns the sentence that no candidate serves the requests, or `None` where one does. A key that serves
/// them keeps each transaction in one logical partition, and most requests and queries name it. In one
/// physical partition any key does.
fn no_key(ranked: &[RankedCandidate], alternatives: &[SecondCopy]) -> Option<String> {
    let best = &ranked.first()?.report.estimates;
    if ranked.iter().all(|standing| !standing.works) {
        let spans = best.requests.iter().filter(|request| request.transaction_fits == Some(false));
        let spans: Vec<_> = spans.map(|request| format!("\"{}\"", request.kind)).collect();
        return Some(format!(
            "No key keeps {} in one logical partition. Name the same key in all writes of a transaction, or let one \
             write decide and a projection from the change feed make the others.",
            spans.join(", ")
        ));
    }
    let fits = |standing: &RankedCandidate| {
        let estimates = &standing.report.estimates;
        standing.works
            && estimates.aligned.is_none_or(|share| share >= MIN_ALIGNED_SHARE)
            && estimates.cross_partition.is_none_or(|share| share <= MAX_CROSS_PARTITION_SHARE)
    };
    if best.physical_partitions <= 1.0 || ranked.iter().any(fits) {
        return None;
    }
    let strategy = &best.strategy;
    let copies: Vec<_> = alternatives.iter().map(second_copy).collect();
    let remedy = if copies.is_empty() {
        format!("No second copy of those measured makes them cheaper. {strategy} is the least bad.")
    } else {
        format!("Keep {strategy}, and make {}.", copies.join(", and "))
    };
    Some(format!(
        "No key serves these requests: with each candidate, many go to all physical partitions. {remedy}"
    ))
}

fn second_copy(copy: &SecondCopy) -> String {
    let costs = copy.upkeep.map_or_else(
        || "costs each write once more".to_owned(),
        |upkeep| {
            format!(
                "costs {} RU a day as a global secondary index and {} as a projection",
                about(upkeep.global_secondary_index),
                about(upkeep.projection)
            )
        },
    );
    format!(
        "a second copy under {} for \"{}\", which saves {} RU a day and {costs}",
        copy.strategy,
        copy.request,
        about(copy.saves())
    )
}
