//! Advice in sections, for both outputs.

use super::{Advice, ContainerLoad, RankedCandidate, SecondCopy};
use crate::{
    checks::SPANNING_TRANSACTION,
    output::{self, Block, COLOURS, NONE, Section, Table},
    report::{CandidateReport, Finding, NamedLevels, Severity},
    traffic::TrafficSummary,
    words::{about, percent, whole},
};

impl Advice {
    pub(crate) fn sections(&self) -> Vec<Section> {
        let Some(best) = self.ranked.first() else { return Vec::new() };
        let report = &best.report;
        let strategy = best.strategy();
        let matrix = vec![Block::Table(self.matrix()), Block::Sentences(vec![self.order()])];
        let mut sections = vec![Section::new("", matrix)];
        sections.extend(Section::of_sentences(format!("Why {strategy}"), self.why.clone()));
        sections.extend(self.pictures(report));
        if !report.requests.is_empty() {
            let blocks = vec![Block::Table(request_table(report))];
            sections.push(Section::new(format!("Requests with {strategy}"), blocks));
        }
        let current = self.current().filter(|current| current.place > 1);
        for (standing, which) in [(Some(best), ""), (current, " (current)")] {
            let Some(standing) = standing else { continue };
            let lines = standing.report.findings.iter().map(finding_line).collect();
            let title = format!("Findings for {}{which}", standing.strategy());
            sections.extend(Section::of_sentences(title, lines));
        }
        if !self.alternatives.is_empty() {
            let sentences = self.alternatives.iter().map(verdict).collect();
            sections.push(Section::new(
                "Instead of another key: a second copy for the requests that do not fit",
                vec![Block::Table(copies(&self.alternatives)), Block::Sentences(sentences)],
            ));
        }
        let load = self.load.as_ref().map(ContainerLoad::sentences).unwrap_or_default();
        sections.extend(Section::of_sentences(format!("Load with {strategy}"), load));
        let unique = self.unique.iter().map(|plan| plan.sentence.clone()).collect();
        sections.extend(Section::of_sentences("Unique values", unique));
        sections.push(self.definition());
        let bicep = vec![Block::Code(self.container.bicep.clone())];
        sections.push(Section::new("The container, as Bicep", bicep));
        if let Some(change) = &self.change {
            let title = format!("To change the key from {} to {}", change.from, change.to);
            sections.extend(Section::of_sentences(title, change.sentences()));
        }
        sections.extend(Section::of_sentences("What the data cannot tell", self.unknown.clone()));
        sections.extend(self.traffic.as_ref().map(TrafficSummary::section));
        sections
    }

    /// Returns the guide's comparison matrix ("Strategy Comparison Matrix"), with measured values.
    fn matrix(&self) -> Table {
        let mut table = Table::new(
            "# | KEY | RU A DAY | WITH RISKS | CARDINALITY | DISTRIBUTION | QUERY EFFICIENCY | COMPLEXITY | WARNINGS",
        );
        for standing in &self.ranked {
            let report = &standing.report;
            let is_current = self.current.as_ref() == Some(&report.strategy);
            let current = if is_current { " (current)" } else { "" };
            let of_sample = if report.cardinality.exact { "" } else { "about " };
            let bytes = &report.by_bytes;
            let mut warnings = standing.warnings();
            if !standing.works {
                warnings.retain(|code| *code != SPANNING_TRANSACTION.code);
                warnings.insert(0, "does not work: spanning-transaction");
            }
            let missing = || NONE.to_owned();
            table.row([
                standing.place.to_string(),
                format!("{}{current}", report.strategy),
                standing.request_units.map_or_else(missing, about),
                standing.request_units.map_or_else(missing, |_| about(standing.score)),
                format!("{of_sample}{}", whole(report.cardinality.value)),
                format!("Gini {:.2}, largest {}", bytes.gini, percent(bytes.largest)),
                report.aligned.map_or_else(missing, |share| format!("{} name it", percent(share))),
                standing.complexity().to_owned(),
                if warnings.is_empty() { missing() } else { warnings.join(", ") },
            ]);
        }
        table
    }

    fn order(&self) -> String {
        let has_requests = self.ranked.iter().any(|standing| standing.request_units.is_some());
        let order = if has_requests {
            "Sorted by request units with risks: those of the requests, and what the risks count as. Of keys within \
             5 %, the simplest is first."
        } else {
            "Sorted by the number of warnings, then by the share of the largest partition."
        };
        order.to_owned()
    }

    fn pictures(&self, best: &CandidateReport) -> impl Iterator<Item = Section> {
        let named = |standing: &RankedCandidate| standing.strategy().to_string();
        let costs = self.ranked.iter().filter(|standing| standing.request_units.is_some());
        let costs = costs.map(|one| (named(one), one.score, about(one.score))).collect::<Vec<_>>();
        let curves = self.ranked.iter().take(COLOURS.len());
        let curves: Vec<_> =
            curves.map(|one| (named(one), &one.report.by_bytes.curve[..])).collect();
        let top = best.by_load().top.iter();
        let top = top.map(|top| (top.key.clone(), top.share, percent(top.share)));
        let titles = [
            "Request units with risks",
            "The share of the bytes in the smallest partitions: a straight line is even",
            "The busiest logical partitions with the first key, by their share",
        ];
        let pictures = [
            (!costs.is_empty()).then(|| output::bars(titles[0], &costs)),
            Some(output::curves(titles[1], &curves)),
            Some(output::bars(titles[2], &top.collect::<Vec<_>>())),
        ];
        let pictures = titles.into_iter().zip(pictures);
        pictures.filter_map(|(title, svg)| Some(Section::new(title, vec![Block::Picture(svg?)])))
    }

    fn definition(&self) -> Section {
        let container = &self.container;
        let computed = container.computed.iter().map(|computed| {
            format!("The app stores {} in each item, made of {}.", computed.path, computed.made_of)
        });
        let order = "Each list sorts in the order of its composite index: by the key first.";
        let order = (container.n_indexes().1 > 0).then(|| order.to_owned());
        let sentences = Block::Sentences(computed.chain(order).collect());
        let entry = serde_json::to_string_pretty(&container.entry).unwrap_or_default();
        let blocks = vec![Block::Code(entry), sentences];
        Section::new("The container, as an entry of containers.json", blocks)
    }
}

fn request_table(report: &CandidateReport) -> Table {
    let mut table = Table::new(
        "REQUEST | A DAY | NAMES THE KEY | LOGICAL PARTITIONS | PHYSICAL | ITEMS LOADED | RU EACH | RU A DAY | SHARE",
    );
    let missing = || NONE.to_owned();
    let total = report.request_units_per_day.value;
    for request in &report.requests {
        let a_day = request.request_units_per_day;
        let names = match request.names {
            NamedLevels::Key => "yes",
            NamedLevels::FirstLevels => "first levels",
            NamedLevels::Several => "several",
            NamedLevels::No => "no",
        };
        table.row([
            request.kind.clone(),
            request.per_day.map_or_else(missing, whole),
            names.to_owned(),
            few(request.logical_partitions),
            few(request.physical_partitions),
            few(request.items_loaded),
            format!("{:.2}", request.request_units),
            a_day.map_or_else(missing, about),
            a_day.filter(|_| total > 0.0).map_or_else(missing, |day| percent(day / total)),
        ]);
    }
    table
}

fn copies(alternatives: &[SecondCopy]) -> Table {
    let mut table = Table::new(
        "REQUEST | KEY OF THE COPY | RU EACH NOW | THEN | SAVES RU A DAY | AS AN INDEX, COSTS | AS A PROJECTION | PAYS FROM",
    );
    let missing = || NONE.to_owned();
    for copy in alternatives {
        table.row([
            copy.request.clone(),
            copy.strategy.to_string(),
            format!("{:.2}", copy.now),
            format!("{:.2}", copy.then),
            about(copy.saves()),
            copy.upkeep.map_or_else(missing, |upkeep| about(upkeep.global_secondary_index)),
            copy.upkeep.map_or_else(missing, |upkeep| about(upkeep.projection)),
            copy.pays_from().map_or_else(missing, |n| format!("{} requests a day", about(n))),
        ]);
    }
    table
}

fn verdict(copy: &SecondCopy) -> String {
    let SecondCopy { request, strategy, limits, .. } = copy;
    let verdict = match copy.pays() {
        None => format!(
            "\"{request}\" would take {:.2} RU instead of {:.2} from a copy by {strategy}. No writes with a \
             frequency are among the requests, so the costs of the copy are unknown.",
            copy.then, copy.now
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
    let stored = if strategy.is_computed() {
        " A projection computes this key; for an index, the app stores it in each item."
    } else {
        ""
    };
    let beware = match limits.as_slice() {
        [] => String::new(),
        limits => format!(" Beware: the copy has {}.", limits.join(", ")),
    };
    verdict + stored + &beware
}

pub(crate) fn finding_line(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Warning => "Warning",
        Severity::Notice => "Notice",
    };
    format!("{severity} {}: {} [{}]", finding.code, finding.sentence, finding.source)
}

fn few(number: f64) -> String {
    if number.fract() == 0.0 || number >= 100.0 { whole(number) } else { format!("{number:.1}") }
}
