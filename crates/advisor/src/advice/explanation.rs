//! The reasons for the first place, in plain sentences.

use super::{AdviceQuestion, RankCertainty, RankedCandidate, SAME_COST_FACTOR, SecondCopy};
use crate::checks::{MAX_CROSS_PARTITION_SHARE, MIN_ALIGNED_SHARE};
use crate::report::{CreationTimes, KeyRisk};
use crate::words::{about, counted, float, percent, thousands, whole};

/// The smallest risk that is told, as a part of the request units.
const MIN_TOLD_RISK: f64 = 0.005;

/// The days beyond which a limit is not told: a century.
const CENTURY_DAYS: f64 = 36_500.0;

/// The difference from which on a share of requests is clearly larger.
const MIN_ALIGNED_DIFFERENCE: f64 = 0.1;

pub(super) fn why(
    ranked: &[RankedCandidate],
    alternatives: &[SecondCopy],
    certainty: Option<&RankCertainty>,
    question: &AdviceQuestion,
) -> Vec<String> {
    let Some((best, others)) = ranked.split_first() else { return Vec::new() };
    let mut why = vec![headline(best, ranked.len())];
    if let Some(certainty) = certainty {
        why.insert(usize::from(certainty.decides), sureness(certainty));
    }
    let first = usize::from(certainty.is_some_and(|certainty| !certainty.decides));
    if let Some(sentence) = no_key(ranked, alternatives) {
        why.insert(first, sentence);
    }
    why.extend(risks(best));
    why.push(partitions(best));
    why.extend(growth(best));
    why.extend(times(best));
    if let Some(aligned) = best.report.estimates.aligned {
        why.push(alignment(best, aligned));
    }
    if let Some(sentence) = expensive(best) {
        why.push(sentence);
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
    if let Some(aligned) = more_aligned(best, others) {
        why.push(compared(best, aligned, "The key that most requests name"));
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

/// Returns a sentence about the random halves of the sample.
fn sureness(certainty: &RankCertainty) -> String {
    let RankCertainty { resamples, first, runner_up, mistakes, decides, tells_request_units } =
        certainty;
    let other = runner_up
        .as_ref()
        .map_or(String::new(), |other| format!(", {} in {} of them", other.strategy, other.first));
    let cost = if *tells_request_units {
        ""
    } else {
        " What it costs the sample does not tell: the halves differ by a third and more."
    };
    let halves =
        format!("It is first in {first} of {resamples} random halves of the sample{other}.{cost}");
    if *decides {
        return halves;
    }
    format!(
        "The sample does not decide: in {mistakes} of {resamples} random halves of it, another key costs less \
         by a quarter and more. Draw a larger one, or whole keys of the properties that requests name \
         (--sampled). What follows is about the likeliest key. {halves}"
    )
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
    let items = if estimates.resampled.is_empty() {
        format!("The {items} items of the sample")
    } else {
        format!("By the {items} items of the sample, those of the container")
    };
    format!(
        "{items} are in {about}{}, {} each on average.{largest}",
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
    let ends: Vec<_> = estimates
        .requests
        .iter()
        .filter_map(|request| Some(format!("\"{}\" to {}", request.kind, request.newest.as_ref()?)))
        .collect();
    let asks = match ends.as_slice() {
        [] => String::new(),
        ends => format!(" The newest that requests ask for: {}.", ends.join(", ")),
    };
    let times = estimates.times.as_ref().filter(|times| times.are_of_creation);
    let used = times.map(|times| {
        let left_out = match times.left_out {
            0 => String::new(),
            n => {
                format!(" {} with other times left out.", counted(float(n), "item"))
            }
        };
        let CreationTimes { path, oldest, newest, .. } = times;
        format!("The time of creation is {path}, from {oldest} to {newest}.{left_out}")
    });
    let sentence = used.unwrap_or_default() + &asks;
    (!sentence.is_empty()).then(|| sentence.trim_start().to_owned())
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

/// Returns a sentence about the kind of request that takes most.
fn expensive(best: &RankedCandidate) -> Option<String> {
    let total = best.report.estimates.request_units_per_day.value;
    let most = best.report.estimates.requests.iter().max_by(|a, b| {
        let day = |r: &crate::report::RequestEstimates| r.request_units_per_day.unwrap_or_default();
        day(a).total_cmp(&day(b))
    })?;
    let share = most.request_units_per_day? / total;
    (total > 0.0 && best.report.estimates.requests.len() > 1).then(|| {
        format!(
            "Most is spent on \"{}\": {} of the request units, {:.2} RU each.",
            most.kind,
            percent(share),
            most.request_units
        )
    })
}

/// Returns the candidate that the most requests name, where those are clearly more than name the best.
fn more_aligned<'a>(
    best: &RankedCandidate,
    others: &'a [RankedCandidate],
) -> Option<&'a RankedCandidate> {
    let share = |standing: &RankedCandidate| standing.report.estimates.aligned.unwrap_or_default();
    let (next, rest) = others.split_first()?;
    // `max_by` takes the last of equals: in reversed order, the best of them.
    let most = rest.iter().rev().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let least = share(best).max(share(next)) + MIN_ALIGNED_DIFFERENCE;
    (share(most) > least).then_some(most)
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
    let more: Vec<_> =
        other.warnings().into_iter().filter(|code| !best.warnings().contains(code)).collect();
    let less: Vec<_> =
        best.warnings().into_iter().filter(|code| !other.warnings().contains(code)).collect();
    let risks = match (more.as_slice(), less.as_slice()) {
        ([], []) => " and has the same warnings".to_owned(),
        ([], less) => format!(" and does not have {}", less.join(", ")),
        (more, _) => format!(" and has {}", more.join(", ")),
    };
    let risks = if best.warnings().is_empty() && other.warnings().is_empty() {
        String::new()
    } else {
        risks
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
