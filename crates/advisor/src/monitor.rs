//! The state of a container's partitions: the guide's `PartitionMetrics` (section "Partition Metrics Monitoring"). The
//! handler names partitions by hashes of their keys. The sample has the keys behind the hashes.

use std::collections::HashSet;

use cosmos_model::partitioning::{KeyStrategy, KeyValue};
use serde::Serialize;
use twox_hash::XxHash64;

use crate::{
    SampleCounts,
    advice::finding_line,
    checks::{self, GB},
    findings,
    output::{Block, Section, Table},
    report::{EstimatedNumber, Finding, Severity},
    sketch::KeyRow,
    traffic::PartitionUse,
    words::{bytes, float, percent, thousands, whole},
};

/// Below, a Gini coefficient or a share of queries says little. The alerts of `infra/` have the same bounds.
const MIN_SKEW_PARTITIONS: f64 = 10.0;
const MIN_RATE_QUERIES: f64 = 20.0;

/// The request units of a logical partition in a tenth of a second: below, one always has a large share.
const MIN_SHARE_REQUEST_UNITS: f64 = 1_000.0;

const MAX_LISTED_PARTITIONS: usize = 10;

const MAX_KEY_CHARACTERS: usize = 60;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitionMetrics {
    pub(crate) partition_key: KeyStrategy,
    pub(crate) items: u64,
    pub(crate) items_in_container: u64,
    pub(crate) partitions: EstimatedNumber,
    pub(crate) average_partition_size: f64,
    pub(crate) largest_partitions: Vec<PartitionSize>,
    pub(crate) hot_partitions: Vec<HotPartition>,
    pub(crate) cross_partition_query_rate: Option<f64>,
    pub(crate) skew: PartitionSkew,
    pub(crate) measured: Option<PartitionUse>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) unknown: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HotPartition {
    pub(crate) name: String,
    pub(crate) key: Option<String>,
    pub(crate) request_units: f64,
    pub(crate) share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitionSize {
    pub(crate) key: String,
    pub(crate) bytes: f64,
    pub(crate) is_of_the_store: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitionSkew {
    pub(crate) items: f64,
    pub(crate) bytes: f64,
    pub(crate) request_units: Option<f64>,
}

impl PartitionMetrics {
    /// `items_in_container` is given where the items are a random sample of it. `None` without items.
    pub(crate) fn new(
        mut counts: SampleCounts,
        items_in_container: Option<u64>,
        measured: Option<PartitionUse>,
    ) -> Option<Self> {
        counts.options.items_in_container = items_in_container;
        let mut report = findings::reports(&counts).pop()?;
        let items_in_container = items_in_container.unwrap_or(report.items);
        if items_in_container > report.items {
            // A sample has fewer keys than the container.
            report.findings.retain(|finding| finding.code != checks::LOW_CARDINALITY.code);
        }
        let used = measured.clone().unwrap_or_default();
        let scale = float(items_in_container) / float(report.items.max(1));
        let all_bytes = float(report.bytes) * scale;
        let told = used.sizes.iter().map(|(key, bytes)| (key, *bytes, true));
        let of_sample = report.by_bytes.top.iter();
        let of_sample = of_sample.map(|top| (&top.key, top.share * all_bytes, false));
        let mut seen = HashSet::new();
        let sizes = told.chain(of_sample).filter(|(key, ..)| seen.insert(*key));
        let sizes = sizes.map(|(key, bytes, is_of_the_store)| PartitionSize {
            key: key.clone(),
            bytes,
            is_of_the_store,
        });
        let mut largest_partitions: Vec<_> = sizes.collect();
        largest_partitions.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
        largest_partitions.truncate(MAX_LISTED_PARTITIONS);
        let (items, bytes) = (report.by_items.gini, report.by_bytes.gini);
        let mut metrics = Self {
            partition_key: report.strategy,
            items: report.items,
            items_in_container,
            partitions: report.cardinality,
            average_partition_size: report.by_bytes.mean,
            largest_partitions,
            hot_partitions: hot_partitions(&counts, &used),
            cross_partition_query_rate: (used.queries > 0.0)
                .then(|| used.cross_partition_queries / used.queries),
            skew: PartitionSkew { items, bytes, request_units: used.gini },
            measured,
            findings: report.findings,
            unknown: Vec::new(),
        };
        metrics.check(&used);
        metrics.unknown.extend(used.unknown);
        Some(metrics)
    }

    pub(crate) fn has_warning(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Warning)
    }

    fn check(&mut self, measured: &PartitionUse) {
        let has_load = measured.request_units > MIN_SHARE_REQUEST_UNITS;
        let large = self.largest_partitions.first().filter(|large| large.is_of_the_store);
        let large = large.map(|large| {
            let said = format!(
                "{} holds {:.1} GB, and at 20 GB the store refuses writes to it. A hierarchical key splits it further.",
                large.key,
                large.bytes / GB
            );
            (large.bytes, said)
        });
        let hot = self.hot_partitions.first().filter(|_| has_load && measured.partitions > 1.0);
        let hot = hot.map(|hot| {
            let said = format!(
                "{} takes {} of the request units. Spread it over suffixes, cache what is read, or choose a key that \
                 splits it.",
                hot.label(),
                percent(hot.share)
            );
            (hot.share, said)
        });
        let rate = self.cross_partition_query_rate.filter(|_| measured.queries >= MIN_RATE_QUERIES);
        let crossing =
            "of the queries name no partition key, so each asks all physical partitions.";
        let is_told = has_load && measured.partitions >= MIN_SKEW_PARTITIONS;
        let skewed = self.skew.request_units.filter(|_| is_told);
        let few = "A few logical partitions take most of the request units.";
        for (check, found) in [
            (checks::LARGE_PARTITION, large),
            (checks::HOT_PARTITION, hot),
            (
                checks::CROSS_PARTITION_QUERIES,
                rate.map(|rate| (rate, format!("{} {crossing}", percent(rate)))),
            ),
            (checks::SKEWED_REQUESTS, skewed.map(|gini| (gini, few.to_owned()))),
        ] {
            let found = found.filter(|(measured, _)| *measured > check.threshold);
            self.findings.extend(found.map(|(measured, said)| check.finding(measured, said)));
        }
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        if self.items < self.items_in_container {
            self.unknown.push(format!(
                "The {} items are a sample of about {}: shares are right to within some points, and what few items \
                 have is not seen.",
                thousands(self.items),
                thousands(self.items_in_container)
            ));
        }
        if self.measured.is_none() {
            let no = "Without --telemetry nothing is known of requests: hot partitions and cross-partition queries \
                      show in the handler's lines and in the diagnostic tables.";
            self.unknown.push(no.to_owned());
        }
    }

    pub(crate) fn sections(&self) -> Vec<Section> {
        let about = if self.partitions.exact { "" } else { "about " };
        let summary = format!(
            "Partition key {}: {about}{} logical partitions, {} on average; Gini {:.2} of the items, {:.2} of the bytes.",
            self.partition_key,
            whole(self.partitions.value),
            bytes(self.average_partition_size),
            self.skew.items,
            self.skew.bytes
        );
        let mut sizes = Table::new("LARGEST PARTITIONS | SIZE");
        for size in &self.largest_partitions {
            let source = if size.is_of_the_store { " (the store)" } else { "" };
            sizes.row([shortened(&size.key), bytes(size.bytes) + source]);
        }
        let blocks = vec![Block::Sentences(vec![summary]), Block::Table(sizes)];
        let mut sections = vec![Section::new("Sizes", blocks)];
        sections.extend(self.measured.as_ref().map(|measured| self.requests(measured)));
        let mut lines: Vec<_> = self.findings.iter().map(finding_line).collect();
        if lines.is_empty() {
            lines.push("Nothing.".to_owned());
        }
        sections.extend(Section::of_sentences("Findings", lines));
        sections.extend(Section::of_sentences("What the data cannot tell", self.unknown.clone()));
        sections
    }

    fn requests(&self, measured: &PartitionUse) -> Section {
        let [units, throttled, queries] =
            [measured.request_units, measured.throttled, measured.queries].map(whole);
        let mut sentences = vec![format!("{units} request units, {throttled} requests throttled.")];
        let gini = self.skew.request_units;
        sentences.extend(gini.map(|gini| format!("Gini {gini:.2} of the request units.")));
        let rate = self.cross_partition_query_rate.map(percent);
        sentences.extend(
            rate.map(|rate| format!("{rate} of {queries} queries go to several partitions.")),
        );
        let mut hottest = Table::new("HOTTEST PARTITIONS | REQUEST UNITS | SHARE");
        for hot in &self.hot_partitions {
            let units = format!("{:.2}", hot.request_units);
            hottest.row([shortened(hot.label()), units, percent(hot.share)]);
        }
        Section::new("Requests", vec![Block::Sentences(sentences), Block::Table(hottest)])
    }
}

impl HotPartition {
    fn label(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.name)
    }
}

fn hot_partitions(counts: &SampleCounts, measured: &PartitionUse) -> Vec<HotPartition> {
    let rows = counts.candidates.iter().flat_map(|candidate| candidate.partitions.rows());
    let rows: Vec<_> = rows.collect();
    let behind = |name: &str| {
        let is_behind = |row: &&KeyRow<'_>| match row.key.values() {
            [KeyValue::Text(text)] => {
                format!("{:016x}", XxHash64::oneshot(0, text.as_bytes())) == name
            }
            _ => false,
        };
        rows.iter().find(is_behind).map(|row| row.key.to_string())
    };
    let hot = measured.hottest.iter().map(|(name, units)| HotPartition {
        name: name.clone(),
        key: if name.starts_with('[') { Some(name.clone()) } else { behind(name) },
        request_units: *units,
        share: units / measured.request_units.max(f64::MIN_POSITIVE),
    });
    hot.collect()
}

fn shortened(key: &str) -> String {
    let text: String = key.chars().take(MAX_KEY_CHARACTERS).collect();
    if text.len() < key.len() { text + "…" } else { text }
}
