//! The load of a container with a key: reads and writes apart, and the share of each physical partition.
//!
//! A physical partition has an equal part of all hashes. The ten busiest logical partitions are placed by
//! their hash. The rest is spread evenly: it is many keys, or none.

use cosmos_model::partitioning::KeyValue;
use serde::Serialize;
use serde_json::Value;

use crate::{
    limits::SECONDS_OF_A_DAY,
    report::CandidateEstimates,
    request::RequestKind,
    words::{about, bytes, counted, float, percent},
};

const MAX_SHARES: usize = 100;
const MAX_TOLD_SHARES: usize = 8;

/// The load of a container with a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerLoad {
    /// Request units a day of reads and queries.
    pub reads: f64,
    /// Request units a day of writes.
    pub writes: f64,
    /// Bytes of the container as JSON.
    pub bytes: f64,
    /// Physical partitions.
    pub partitions: f64,
    /// The share of each in the load, the largest first; at most a hundred.
    pub shares: Vec<f64>,
}

impl ContainerLoad {
    /// Returns the load, or `None` where no frequency is known.
    pub(super) fn new(
        estimates: &CandidateEstimates,
        requests: &[RequestKind],
        items_in_container: Option<u64>,
    ) -> Option<Self> {
        estimates.by_request_units.as_ref()?;
        let of = |is_read: bool| -> f64 {
            let kinds = estimates.requests.iter().zip(requests);
            let kinds = kinds.filter(|(_, request)| request.operation.is_read() == is_read);
            kinds.filter_map(|(costs, _)| costs.request_units_per_day).sum()
        };
        let items = items_in_container.unwrap_or(estimates.items);
        Some(Self {
            reads: of(true),
            writes: of(false),
            bytes: float(estimates.bytes) / float(estimates.items.max(1)) * float(items),
            partitions: estimates.physical_partitions,
            shares: shares(estimates),
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

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few partitions")]
fn shares(estimates: &CandidateEstimates) -> Vec<f64> {
    let n_partitions = estimates.physical_partitions.max(1.0);
    let mut of_top: Vec<(u64, f64)> = Vec::new();
    let mut rest = 1.0;
    for top in estimates.by_request_units.iter().flat_map(|load| &load.top) {
        let partition = (place(&top.key) * n_partitions) as u64;
        rest -= top.share;
        match of_top.iter_mut().find(|(other, _)| *other == partition) {
            Some((_, share)) => *share += top.share,
            None => of_top.push((partition, top.share)),
        }
    }
    let even = f64::max(rest, 0.0) / n_partitions;
    let mut shares: Vec<f64> = of_top.iter().map(|(_, share)| share + even).collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    shares.resize((n_partitions as usize).min(MAX_SHARES), even);
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
    #[expect(clippy::cast_precision_loss, reason = "a position, to 53 bits")]
    let place = (upper_half_of_murmur3(&text) & (u64::MAX >> 2)) as f64 / 2_f64.powi(62);
    place
}

/// Returns the second 64 bits of the hash `MurmurHash3`, x64, with the seed 0.
fn upper_half_of_murmur3(text: &[u8]) -> u64 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let word =
        |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
    let finish = |k: u64| {
        let k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        k ^ (k >> 33)
    };
    let mut h1 = 0_u64;
    let mut h2 = 0_u64;
    let blocks = text.chunks_exact(16);
    let rest = blocks.remainder();
    for block in blocks {
        h1 ^= mix1(word(&block[..8]));
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix2(word(&block[8..]));
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (low, high) = rest.split_at(rest.len().min(8));
    h1 ^= mix1(word(low)) ^ text.len() as u64;
    h2 ^= mix2(word(high)) ^ text.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    finish(h1).wrapping_add(finish(h2)).wrapping_add(finish(h2))
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
