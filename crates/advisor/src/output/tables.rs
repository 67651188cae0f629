//! The tables of both outputs.

use tributary_tools::{Table, figures::NONE};

use crate::{
    advice::{Advice, RankedCandidate, SecondCopy},
    checks::SPANNING_TRANSACTION,
    report::{CandidateEstimates, NamedLevels},
    words::{about, percent, whole},
};

/// Returns the guide's comparison matrix ("Strategy Comparison Matrix"), with measured values.
pub(super) fn matrix(advice: &Advice) -> Table {
    let mut table = Table::new([
        "#",
        "KEY",
        "RU A DAY",
        "WITH RISKS",
        "CARDINALITY",
        "DISTRIBUTION",
        "QUERY EFFICIENCY",
        "COMPLEXITY",
        "WARNINGS",
    ]);
    for standing in &advice.ranked {
        let estimates = &standing.report.estimates;
        let is_current = advice.current.as_ref() == Some(&estimates.strategy);
        let key = if is_current {
            format!("{} (current)", estimates.strategy)
        } else {
            estimates.strategy.to_string()
        };
        table.row([
            standing.place.to_string(),
            key,
            standing.request_units.map_or(NONE.into(), about),
            standing.request_units.map_or(NONE.into(), |_| about(standing.score)),
            cardinality(estimates),
            distribution(estimates),
            efficiency(estimates),
            standing.complexity().to_owned(),
            warnings(standing),
        ]);
    }
    table
}

/// Returns the order of the matrix as a sentence.
pub(super) fn order(advice: &Advice) -> &'static str {
    let has_requests =
        advice.ranked.first().is_some_and(|standing| standing.request_units.is_some());
    if has_requests {
        "Sorted by request units with risks: those of the requests, and what the risks count as. Of keys within \
         5 %, the simplest is first."
    } else {
        "Sorted by the number of warnings, then by the share of the largest partition."
    }
}

fn cardinality(estimates: &CandidateEstimates) -> String {
    let about = if estimates.cardinality.exact { "" } else { "about " };
    format!("{about}{}", whole(estimates.cardinality.value))
}

fn distribution(estimates: &CandidateEstimates) -> String {
    let bytes = &estimates.by_bytes;
    format!("Gini {:.2}, largest {}", bytes.gini, percent(bytes.largest))
}

fn efficiency(estimates: &CandidateEstimates) -> String {
    match estimates.aligned {
        Some(aligned) => format!("{} name it", percent(aligned)),
        None => NONE.to_owned(),
    }
}

fn warnings(standing: &RankedCandidate) -> String {
    let mut warnings = standing.warnings();
    if !standing.works {
        warnings.retain(|code| *code != SPANNING_TRANSACTION);
        warnings.insert(0, "does not work: spanning-transaction");
    }
    if warnings.is_empty() { NONE.to_owned() } else { warnings.join(", ") }
}

/// Returns the table of the costs of each kind of request.
pub(super) fn requests(estimates: &CandidateEstimates) -> Table {
    let mut table = Table::new([
        "REQUEST",
        "A DAY",
        "NAMES THE KEY",
        "LOGICAL PARTITIONS",
        "PHYSICAL",
        "ITEMS LOADED",
        "RU EACH",
        "RU A DAY",
        "SHARE",
    ]);
    let total = estimates.request_units_per_day.value;
    for request in &estimates.requests {
        let a_day = request.request_units_per_day;
        table.row([
            request.kind.clone(),
            request.per_day.map_or(NONE.into(), whole),
            match request.names {
                NamedLevels::Key => "yes",
                NamedLevels::FirstLevels => "first levels",
                NamedLevels::Several => "several",
                NamedLevels::No => "no",
            }
            .to_owned(),
            few(request.logical_partitions),
            few(request.physical_partitions),
            few(request.items_loaded),
            format!("{:.2}", request.request_units),
            a_day.map_or(NONE.into(), about),
            a_day.filter(|_| total > 0.0).map_or(NONE.into(), |day| percent(day / total)),
        ]);
    }
    table
}

/// Returns the table of the costs and savings of second copies.
pub(super) fn alternatives(alternatives: &[SecondCopy]) -> Table {
    let mut table = Table::new([
        "REQUEST",
        "KEY OF THE COPY",
        "RU EACH NOW",
        "THEN",
        "SAVES RU A DAY",
        "AS AN INDEX, COSTS",
        "AS A PROJECTION",
        "PAYS FROM",
    ]);
    for alternative in alternatives {
        let upkeep = alternative.upkeep;
        table.row([
            alternative.request.clone(),
            alternative.strategy.to_string(),
            format!("{:.2}", alternative.now),
            format!("{:.2}", alternative.then),
            about(alternative.saves()),
            upkeep.map_or(NONE.into(), |upkeep| about(upkeep.global_secondary_index)),
            upkeep.map_or(NONE.into(), |upkeep| about(upkeep.projection)),
            alternative.pays_from().map_or(NONE.into(), |n| format!("{} requests a day", about(n))),
        ]);
    }
    table
}

/// Returns a number that is mostly small.
fn few(number: f64) -> String {
    if number.fract() == 0.0 || number >= 100.0 { whole(number) } else { format!("{number:.1}") }
}
