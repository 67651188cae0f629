//! The reasons for the first place, in plain sentences.

use super::{RankCertainty, RankedCandidate, SAME_COST_FACTOR, SecondCopy};
use crate::{
    checks::{CROSS_PARTITION_QUERIES, NOT_ALIGNED},
    report::{CandidateReport, KeyRisk},
    words::{about, counted, float, percent, thousands, whole},
};

const MIN_TOLD_RISK: f64 = 0.005;
const CENTURY_DAYS: f64 = 36_500.0;

pub(super) fn why(
    ranked: &[RankedCandidate],
    alternatives: &[SecondCopy],
    certainty: Option<&RankCertainty>,
    current: Option<&RankedCandidate>,
) -> Vec<String> {
    let Some((best, others)) = ranked.split_first() else { return Vec::new() };
    let report = &best.report;
    let mut why: Vec<String> = no_key(ranked, alternatives).into_iter().collect();
    why.push(headline(best, ranked.len()));
    if let Some(certainty) = certainty {
        let position = if certainty.cheaper.is_some() { 0 } else { why.len() };
        why.insert(position, certainty.sentence(&report.strategy));
    }
    why.extend(risks(best));
    why.push(partitions(report));
    why.extend([growth(report), times(report), alignment(report)].into_iter().flatten());
    if report.physical_partitions <= 1.0 && !report.requests.is_empty() {
        why.push(
            "The container has one physical partition at this size: there, a query that does not name the key \
             costs little more than one that does. --items-in-container says what a larger one would cost."
                .to_owned(),
        );
    }
    why.extend(others.first().map(|next| compared(best, next, "The next")));
    why.extend(current.map(|current| match current.place {
        1 => format!("{} is the key that the container has: keep it.", current.strategy()),
        n => compared(best, current, &format!("The key that the container has (number {n} here)")),
    }));
    why
}

fn headline(best: &RankedCandidate, n_candidates: usize) -> String {
    let all = &best.report.request_units_per_day;
    let costs = match best.request_units.map(about) {
        Some(units) if best.report.has_frequency() => {
            let [low, high] = [all.low, all.high].map(about);
            format!("its requests take about {units} RU a day (between {low} and {high})")
        }
        Some(units) => format!("one request of each kind takes about {units} RU together"),
        None => "no requests are known, so only risks were compared".to_owned(),
    };
    let risks = match best.warnings().as_slice() {
        [] => "no warning was found".to_owned(),
        [one] => format!("one warning was found ({one})"),
        several => format!("{} warnings were found ({})", several.len(), several.join(", ")),
    };
    let of =
        if n_candidates == 1 { String::new() } else { format!(" of {n_candidates} candidates") };
    let spans = " None of them keeps each transaction in one logical partition, so none works as the requests are.";
    let works = if best.works { "" } else { spans };
    format!("{} is the best{of}: {costs}, and {risks}.{works}", best.strategy())
}

fn risks(best: &RankedCandidate) -> Option<String> {
    let request_units = best.request_units.filter(|units| *units > 0.0)?;
    let share = |risk: &KeyRisk| risk.request_units / request_units;
    let told = best.report.risks.iter().filter(|risk| share(risk) > MIN_TOLD_RISK);
    let told: Vec<_> = told.map(|risk| format!("{} {}", risk.code, percent(share(risk)))).collect();
    let all = percent(best.score / request_units - 1.0);
    (!told.is_empty()).then(|| format!("Its risks count as {all} more: {}.", told.join(", ")))
}

fn partitions(report: &CandidateReport) -> String {
    let about = if report.cardinality.exact { "" } else { "about " };
    let largest = report.by_items.top.first().map_or_else(String::new, |top| {
        format!(" The largest, {}, has {} of the items.", top.key, percent(top.share))
    });
    let mean = report.by_items.mean;
    format!(
        "By the {} items of the sample, there are {about}{}, with {} items each on average.{largest}",
        thousands(report.items),
        counted(report.cardinality.value, "logical partition"),
        if mean < 10.0 { format!("{mean:.1}") } else { whole(mean) },
    )
}

fn growth(report: &CandidateReport) -> Option<String> {
    let growth = &report.growth;
    let items = growth.items_per_day.filter(|items| *items > 0.0)?;
    let limits = [(growth.days_to_20_gb, "20 GB"), (growth.days_to_10_000_ru, "10,000 RU/s")];
    let reached = limits.into_iter().filter_map(|(days, limit)| {
        let days = days.filter(|days| *days < CENTURY_DAYS)?;
        Some(match days {
            _ if days < 1.0 => format!("{limit} at once"),
            _ if days < 730.0 => format!("{limit} in {} days", about(days)),
            _ => format!("{limit} in {} years", about(days / 365.0)),
        })
    });
    let reached: Vec<_> = reached.collect();
    let largest = if reached.is_empty() {
        let period = if growth.ends_with_period { ", since its period ends" } else { "" };
        format!("no logical partition reaches a limit of the service within a century{period}")
    } else {
        format!("the largest logical partition reaches {}", reached.join(", and "))
    };
    Some(format!("With {} new items a day, {largest}.", about(items)))
}

fn times(report: &CandidateReport) -> Option<String> {
    let times = report.times.as_ref().filter(|times| times.are_of_creation)?;
    let left_out = match times.left_out {
        0 => String::new(),
        n => format!(" {} with other times left out.", counted(float(n), "item")),
    };
    Some(format!(
        "The time of creation is {}, from {} to {}.{left_out}",
        times.path, times.oldest, times.newest
    ))
}

fn alignment(report: &CandidateReport) -> Option<String> {
    let misfits = report.requests.iter().filter(|request| !request.names.is_one_place());
    let misfits: Vec<_> = misfits.map(|request| format!("\"{}\"", request.kind)).collect();
    let rest = match misfits.as_slice() {
        [] => String::new(),
        [one] => format!(" {one} does not."),
        several => format!(" {} do not.", several.join(", ")),
    };
    let has_levels = report.strategy.levels().len() > 1;
    let or_levels = if has_levels { ", or the first levels of the key" } else { "" };
    let share = percent(report.aligned?);
    Some(format!("{share} of the requests name one logical partition{or_levels}.{rest}"))
}

fn compared(best: &RankedCandidate, other: &RankedCandidate, name: &str) -> String {
    let strategy = other.strategy();
    if best.works && !other.works {
        return format!(
            "{name}, {strategy}, does not work: a transaction would span logical partitions."
        );
    }
    let units = best.request_units.zip(other.request_units).filter(|(best, _)| *best > 0.0);
    let costs = match units.map(|(best, other)| other / best) {
        Some(factor) if factor > SAME_COST_FACTOR => {
            format!("takes {factor:.1} times the request units")
        }
        Some(factor) if factor < 1.0 / SAME_COST_FACTOR => {
            format!("takes {} of the request units", percent(factor))
        }
        Some(_) => "takes about the same request units".to_owned(),
        None => {
            let largest = other.report.by_bytes.largest;
            format!("has {} of the bytes in its largest partition", percent(largest))
        }
    };
    let difference = |of: &RankedCandidate, without: &RankedCandidate| {
        let mut codes = of.warnings();
        codes.retain(|code| !without.warnings().contains(code));
        codes.join(", ")
    };
    let risks = match (difference(other, best).as_str(), difference(best, other).as_str()) {
        ("", "") => String::new(),
        ("", less) => format!(" and does not have {less}"),
        (more, _) => format!(" and has {more}"),
    };
    format!("{name}, {strategy}, {costs}{risks}.")
}

/// Returns a sentence unless a key keeps each transaction together and is named by most requests and queries.
fn no_key(ranked: &[RankedCandidate], alternatives: &[SecondCopy]) -> Option<String> {
    let best = &ranked.first()?.report;
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
        let report = &standing.report;
        standing.works
            && report.aligned.is_none_or(|share| share >= NOT_ALIGNED.threshold)
            && report.cross_partition.is_none_or(|share| share <= CROSS_PARTITION_QUERIES.threshold)
    };
    if best.physical_partitions <= 1.0 || ranked.iter().any(fits) {
        return None;
    }
    let strategy = &best.strategy;
    let copies: Vec<_> = alternatives.iter().map(|copy| format!("\"{}\"", copy.request)).collect();
    let remedy = if copies.is_empty() {
        format!("No second copy of those measured makes them cheaper. {strategy} is the least bad.")
    } else {
        let copies = copies.join(", ");
        format!("Keep {strategy}, and see below what a second copy for {copies} saves and costs.")
    };
    Some(format!(
        "No key serves these requests: with each candidate, many go to all physical partitions. {remedy}"
    ))
}
