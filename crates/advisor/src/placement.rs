//! The position of a logical partition among all: the hash of its key.
//!
//! A physical partition has a range of hashes. The hash is MurmurHash3 with 128 bits of the values of the
//! key, without its two highest bits (version 2 of the service's hash).

use cosmos_model::partitioning::KeyValue;

/// Returns the position of a key, from 0 to less than 1. All levels of a hierarchical key count, as partitions
/// that are split by their size are filled evenly.
pub(crate) fn place(key: &[KeyValue]) -> f64 {
    let mut text = Vec::new();
    for value in key {
        encode(value, &mut text);
    }
    let top = u64::try_from(murmur3(&text) >> 64).unwrap_or_default() & (u64::MAX >> 2);
    #[expect(clippy::cast_precision_loss, reason = "a position, to 53 bits")]
    let place = top as f64 / 2_f64.powi(62);
    place
}

/// Writes a value as the service hashes it.
fn encode(value: &KeyValue, text: &mut Vec<u8>) {
    match value {
        KeyValue::Undefined => text.push(0),
        KeyValue::Null => text.push(1),
        KeyValue::Bool(false) => text.push(2),
        KeyValue::Bool(true) => text.push(3),
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

/// Returns the hash MurmurHash3, x64, 128 bits, with the seed 0.
fn murmur3(text: &[u8]) -> u128 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let word =
        |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
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
    h1 ^= mix1(word(low));
    h2 ^= mix2(word(high));
    let length = text.len() as u64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (u128::from(h2) << 64) | u128::from(h1)
}

fn finish(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use azure_data_cosmos::{PartitionKey, feed::FeedRange, models::PartitionKeyDefinition};

    use super::*;

    /// Checks that the position of a key is that of the SDK.
    #[track_caller]
    fn check(value: KeyValue, key: impl Into<PartitionKey>) {
        let definition: PartitionKeyDefinition = "/k".into();
        let range = FeedRange::for_partition(key.into(), &definition);
        let of_the_sdk = u64::from_str_radix(&range.min_inclusive().to_hex()[..16], 16).unwrap();
        let ours = place(&[value]) * 2_f64.powi(62);
        assert_eq!(format!("{ours:.3e}"), format!("{of_the_sdk:.3e}"));
    }

    #[test]
    fn the_position_of_a_key_is_that_of_the_sdk() {
        for text in
            ["", "a", "contoso", "0123456789abcde", "a key of more than sixteen bytes", "zürich"]
        {
            check(KeyValue::Text(text.to_owned()), text.to_owned());
        }
        check(KeyValue::Number(17.into()), 17);
        check(KeyValue::Bool(true), true);
        check(KeyValue::Null, PartitionKey::NULL);
    }
}
