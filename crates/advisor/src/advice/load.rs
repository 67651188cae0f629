//! The load of a container with a key: reads and writes apart, and the share of each physical partition.
//!
//! A physical partition has an equal part of all hashes. The ten busiest logical partitions are placed by
//! their hash. The rest is spread evenly: it is many keys, or none.

use cosmos_model::partitioning::KeyValue;
use serde::Serialize;
use serde_json::Value;

use crate::{
    checks::SECONDS_OF_A_DAY,
    report::CandidateReport,
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
    /// The share of each in the load, the largest first; at most a hundred.
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
        let partition = count((place(&top.key) * n_partitions).floor());
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

/// Returns the position of a key among all hashes, from 0 to less than 1. The hash is `MurmurHash3` with 128
/// bits of the values, without its two highest bits (version 2 of the service's hash). All levels count, as
/// partitions that are split by their size are filled evenly.
fn place(key: &str) -> f64 {
    let values: Vec<Value> = serde_json::from_str(key).unwrap_or_default();
    let mut text = Vec::new();
    for value in &values {
        match KeyValue::from_property(Some(value)).unwrap_or(KeyValue::Undefined) {
            KeyValue::Undefined => text.push(0),
            KeyValue::Null => text.push(1),
            KeyValue::Bool(value) => text.push(2 + u8::from(value)),
            KeyValue::Number(number) => {
                text.push(5);
                text.extend(number.as_f64().unwrap_or_default().to_le_bytes());
            }
            KeyValue::Text(value) => {
                text.push(8);
                text.extend(value.as_bytes());
                text.push(0xFF);
            }
        }
    }
    // Reading from memory cannot fail.
    let hash = murmur3::murmur3_x64_128(&mut text.as_slice(), 0).unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a position, to 53 bits")]
    let place = (hash << 2 >> 66) as f64 / 2_f64.powi(62);
    place
}

#[cfg(test)]
mod tests {
    use azure_data_cosmos::{PartitionKey, feed::FeedRange, models::PartitionKeyDefinition};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_position_of_a_key_is_that_of_the_sdk() {
        let texts =
            ["", "a", "contoso", "0123456789abcde", "a key of over sixteen bytes", "zürich"];
        let texts = texts.map(|text| (json!([text]), PartitionKey::from(text.to_owned())));
        let others = [
            (json!([17]), PartitionKey::from(17)),
            (json!([true]), PartitionKey::from(true)),
            (json!([null]), PartitionKey::NULL.into()),
        ];
        let definition: PartitionKeyDefinition = "/k".into();
        for (key, of_sdk) in texts.into_iter().chain(others) {
            let range = FeedRange::for_partition(of_sdk, &definition);
            let hash = u64::from_str_radix(&range.min_inclusive().to_hex()[..16], 16).unwrap();
            let ours = place(&key.to_string()) * 2_f64.powi(62);
            assert_eq!(format!("{ours:.3e}"), format!("{hash:.3e}"), "{key}");
        }
    }
}
