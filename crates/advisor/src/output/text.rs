//! Advice on a terminal.

use std::fmt::Write as _;

use cosmos_model::partitioning::KeyPart;

use super::tables;
use crate::{
    advice::{Advice, KeyChange, LoadSpread, SecondCopy},
    limits::GB,
    report::{CandidateReport, Finding, Severity},
    words::{about, counted, percent},
};

/// The physical partitions whose shares stand in a line.
const MAX_LISTED_SHARES: usize = 8;

/// Returns advice as text, with bold heads where the terminal shows them.
pub fn text(advice: &Advice) -> String {
    let mut text = String::new();
    let Some(best) = advice.ranked.first() else { return text };
    let _ = writeln!(text, "{}", tables::matrix(advice).text());
    let _ = writeln!(text, "{}\n", tables::order(advice));
    section(&mut text, &format!("Why {}", best.report.estimates.strategy), &advice.why);
    if !best.report.estimates.requests.is_empty() {
        head(&mut text, &format!("Requests with {}", best.report.estimates.strategy));
        let _ = writeln!(text, "{}", tables::requests(&best.report.estimates).text());
    }
    let current = advice.current().filter(|current| current.place > 1);
    for (name, standing) in [("", Some(best)), (" (current)", current)] {
        let Some(standing) = standing else { continue };
        findings(
            &mut text,
            &format!("{}{name}", standing.report.estimates.strategy),
            &standing.report,
        );
    }
    if !advice.alternatives.is_empty() {
        head(&mut text, "Instead of another key: a second copy for the requests that do not fit");
        let _ = writeln!(text, "{}", tables::alternatives(&advice.alternatives).text());
        section(&mut text, "", &advice.alternatives.iter().map(sentence).collect::<Vec<_>>());
    }
    section(&mut text, &format!("Load with {}", best.report.estimates.strategy), &load(advice));
    let unique: Vec<_> = advice.unique.iter().map(|one| one.sentence.clone()).collect();
    section(&mut text, "Unique values", &unique);
    definition(&mut text, advice);
    if let Some(change) = &advice.change {
        runbook(&mut text, change);
    }
    section(&mut text, "What the data cannot tell", &advice.unknown);
    text
}

/// Returns the verdict on a second copy.
pub(super) fn sentence(alternative: &SecondCopy) -> String {
    let SecondCopy { request, strategy, .. } = alternative;
    let beware = match alternative.limits.as_slice() {
        [] => String::new(),
        limits => format!(" Beware: the copy has {}.", limits.join(", ")),
    };
    let sentence = match alternative.pays() {
        None => format!(
            "\"{request}\" would take {:.2} RU instead of {:.2} from a copy by {strategy}. No writes with a \
             frequency are among the requests, so the costs of the copy are unknown.",
            alternative.then, alternative.now
        ),
        Some(true) => format!(
            "A copy by {strategy} for \"{request}\" saves more than it costs: a global secondary index \
             where the account has them, otherwise a projection from the change feed."
        ),
        Some(false) => format!(
            "A copy by {strategy} for \"{request}\" costs more than it saves: leave the fan-out, unless it \
             is too slow."
        ),
    };
    let is_computed =
        strategy.levels().iter().any(|level| !matches!(level.as_slice(), [KeyPart::Value(_)]));
    let stored = if is_computed {
        " A projection computes this key; for an index, the app stores it in each item."
    } else {
        ""
    };
    sentence + stored + &beware
}

/// Returns the spread of the load over reads and writes, and over the physical partitions.
pub(super) fn load(advice: &Advice) -> Vec<String> {
    let Some(load) = &advice.load else { return Vec::new() };
    let all = (load.reads + load.writes).max(f64::MIN_POSITIVE);
    let part = |day: f64| format!("{} RU a day ({})", about(day), percent(day / all));
    let shares = |spread: &LoadSpread| {
        let listed: Vec<_> =
            spread.shares.iter().take(MAX_LISTED_SHARES).map(|share| percent(*share)).collect();
        let more = if spread.shares.len() > MAX_LISTED_SHARES { ", …" } else { "" };
        let busiest = spread.shares.first().copied().unwrap_or_default();
        format!(
            "{}: {}{more} of the load. The busiest takes {:.0} RU/s as a mean, and {:.1} GB are stored",
            counted(spread.partitions, "physical partition"),
            listed.join(", "),
            busiest * spread.request_units_per_second,
            spread.bytes / GB,
        )
    };
    let mut lines = vec![
        format!("Reads take {}, writes {}.", part(load.reads), part(load.writes)),
        format!("Now {}.", shares(&load.now)),
    ];
    lines.push(match &load.in_a_year {
        Some(spread) => {
            format!("In a year, if requests grow as the items do, {}.", shares(spread))
        }
        None => "The load in a year is unknown without --items-per-day or creates.".to_owned(),
    });
    lines
}

fn runbook(text: &mut String, change: &KeyChange) {
    head(text, &format!("To change the key from {} to {}", change.from, change.to));
    for (title, lines) in parts_of_runbook(change) {
        let _ = writeln!(text, "{title}");
        for (n, line) in lines.iter().enumerate() {
            let _ = writeln!(text, "  {}. {line}", n + 1);
        }
        text.push('\n');
    }
}

/// Returns the parts of the runbook with their titles.
pub(super) fn parts_of_runbook(change: &KeyChange) -> Vec<(&'static str, &[String])> {
    let parts: [(_, &[String]); 4] = [
        ("Costs", &change.costs),
        ("Consequences", &change.limits),
        ("With a copy job of the service", &change.copy_job),
        ("With a projection, while the app keeps running", &change.projection),
    ];
    parts.into_iter().filter(|(_, lines)| !lines.is_empty()).collect()
}

fn definition(text: &mut String, advice: &Advice) {
    if !advice.is_decided() {
        let refusal =
            "No definition of a container: the sample does not decide its key.".to_owned();
        return section(text, "The container", &[refusal]);
    }
    head(text, "The container, as an entry of containers.json");
    let entry = advice.container.entry.json();
    let _ = writeln!(text, "{entry}\n");
    for computed in &advice.container.computed {
        let _ = writeln!(
            text,
            "The app stores {} in each item, made of {} (crates/partitioning computes it).\n",
            computed.path, computed.made_of
        );
    }
    let queries = &advice.container.queries;
    if !queries.is_empty() {
        head(text, "Its queries, written so that these indexes serve them");
        for query in queries {
            let _ = writeln!(text, "  - {}: {}", query.kind, query.text);
        }
        text.push('\n');
    }
    head(text, "The container, as Bicep");
    let _ = writeln!(text, "{}", advice.container.bicep);
}

fn findings(text: &mut String, name: &str, report: &CandidateReport) {
    let lines: Vec<_> = report.findings.iter().map(line).collect();
    section(text, &format!("Findings for {name}"), &lines);
}

/// Returns a finding in a line.
pub(super) fn line(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Warning => "Warning",
        Severity::Notice => "Notice",
    };
    format!("{severity} {}: {} [{}]", finding.code, finding.sentence, finding.source)
}

fn head(text: &mut String, title: &str) {
    let _ = writeln!(text, "\u{1b}[1m{title}\u{1b}[0m");
}

fn section(text: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    if !title.is_empty() {
        head(text, title);
    }
    for line in lines {
        let _ = writeln!(text, "  - {line}");
    }
    text.push('\n');
}
