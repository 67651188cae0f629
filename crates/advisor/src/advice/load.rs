//! The load of a container with a key. Nobody knows the bounds of the hashes of a physical partition before, so the ten
//! busiest logical partitions are placed at random, by a hash. The rest is spread evenly: it is many keys, or none.

use serde::Serialize;

use crate::{
    checks::SECONDS_OF_A_DAY,
    report::CandidateReport,
    sketch::hash,
    words::{about, bytes, count, counted, float, percent, size},
};

const MAX_SHARES: usize = 100;
const MAX_TOLD_SHARES: usize = 8;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ContainerLoad {
    pub(crate) reads: f64,
    pub(crate) writes: f64,
    pub(crate) bytes: f64,
    pub(crate) partitions: f64,
    pub(crate) shares: Vec<f64>,
}

impl ContainerLoad {
    pub(super) fn new(report: &CandidateReport, items_in_container: Option<u64>) -> Option<Self> {
        report.by_request_units.as_ref()?;
        let items = items_in_container.unwrap_or(report.items);
        Some(Self {
            reads: report.request_units(true),
            writes: report.request_units(false),
            bytes: float(report.bytes) / float(report.items.max(1)) * float(items),
            partitions: report.physical_partitions,
            shares: shares(report),
        })
    }

    pub(super) fn sentences(&self) -> Vec<String> {
        let all = (self.reads + self.writes).max(f64::MIN_POSITIVE);
        let part = |day: f64| format!("{} RU a day ({})", about(day), percent(day / all));
        let told = self.shares.iter().take(MAX_TOLD_SHARES).map(|share| percent(*share));
        let more = if self.shares.len() > MAX_TOLD_SHARES { ", …" } else { "" };
        let busiest = self.shares.first().copied().unwrap_or_default();
        vec![
            format!("Reads take {}, writes {}.", part(self.reads), part(self.writes)),
            format!(
                "{} with {}: {}{more} of the load. The busiest takes {:.1} RU/s on average.",
                counted(self.partitions, "physical partition"),
                bytes(self.bytes),
                told.collect::<Vec<_>>().join(", "),
                busiest * all / SECONDS_OF_A_DAY,
            ),
        ]
    }
}

fn shares(report: &CandidateReport) -> Vec<f64> {
    let n_partitions = report.physical_partitions.max(1.0);
    let mut of_top: Vec<(u64, f64)> = Vec::new();
    let mut rest = 1.0;
    for top in report.by_request_units.iter().flat_map(|load| &load.top) {
        let partition = hash(&top.key) % count(n_partitions);
        rest -= top.share;
        match of_top.iter_mut().find(|(other, _)| *other == partition) {
            Some((_, share)) => *share += top.share,
            None => of_top.push((partition, top.share)),
        }
    }
    let even = f64::max(rest, 0.0) / n_partitions;
    let mut shares: Vec<f64> = of_top.iter().map(|(_, share)| share + even).collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    shares.resize(size(n_partitions).min(MAX_SHARES), even);
    shares
}
