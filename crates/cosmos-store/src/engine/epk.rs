//! Effective partition keys: where a partition key lies in the hash space, computed as the SDKs do.

use cosmos_model::partitioning::path::PropertyPath;
use data_encoding::{HEXUPPER, HEXUPPER_PERMISSIVE};
use murmur3::{murmur3_32, murmur3_x64_128};

use super::EpkRange;
use crate::{Refusal, Result, json::Json};

/// The longest text in a partition key, in bytes.
const MAX_TEXT_BYTES: usize = 2048;

/// Texts in hashes of version 1 count up to this number of UTF-16 code units.
const V1_UNITS: usize = 100;

/// Texts in keys of version 1 are written up to this number of bytes, and one more.
const V1_BYTES: usize = 100;

/// A value of a partition key that is missing, as the SDKs write it.
pub(super) const UNDEFINED: Json = Json::Object(Vec::new());

/// Returns the values of a partition key, a JSON array. An empty object is a missing value.
pub(super) fn values_of_key(key: &Json, levels: usize) -> Result<Vec<Json>> {
    let Json::Array(values) = key else {
        return Err(Refusal::new(400, "The partition key supplied is invalid: it is no array."));
    };
    if values.len() > levels {
        let text = format!(
            "The partition key supplied has {} values, the container {levels}.",
            values.len()
        );
        return Err(Refusal::new(400, text));
    }
    values.iter().map(key_value).collect()
}

/// Returns the values of the partition key that an item has. An array or object counts as missing.
pub(super) fn values_of_item(item: &Json, paths: &[PropertyPath]) -> Result<Vec<Json>> {
    let value = |path: &PropertyPath| match item.at(path.names()) {
        None | Some(Json::Array(_) | Json::Object(_)) => Ok(UNDEFINED),
        Some(value) => key_value(value),
    };
    paths.iter().map(value).collect()
}

fn key_value(value: &Json) -> Result<Json> {
    match value {
        Json::Array(_) => Err(Refusal::new(400, "A partition key value must not be an array.")),
        Json::Object(properties) if !properties.is_empty() => {
            Err(Refusal::new(400, "A partition key value must not be an object."))
        }
        Json::Text(text) if text.len() > MAX_TEXT_BYTES => {
            Err(Refusal::new(400, "Partition key value is too long: at most 2048 bytes."))
        }
        value => Ok(value.clone()),
    }
}

/// Returns the effective partition key of values.
///
/// Version 2 has a hash for each level. Version 1 has the hash and the begin of the value, which long texts have in
/// common: they get a hash of the whole text besides, behind what the SDKs compute, and so within their ranges.
pub(super) fn hash(values: &[Json], version: u8) -> Vec<u8> {
    if version == 1 {
        return values.first().map(hash_v1).unwrap_or_default();
    }
    let mut epk = Vec::with_capacity(16 * values.len());
    for value in values {
        let mut bytes = Vec::new();
        write_for_hash(value, 0xff, &mut bytes);
        epk.extend(hash_v2(&bytes));
    }
    epk
}

fn hash_v2(bytes: &[u8]) -> [u8; 16] {
    // Reading from memory does not fail.
    let hash = murmur3_x64_128(&mut &*bytes, 0).unwrap_or_default();
    let mut epk = hash.to_be_bytes();
    epk[0] &= 0x3f;
    epk
}

fn hash_v1(value: &Json) -> Vec<u8> {
    let short = match value {
        Json::Text(text) => Json::Text(first_units(text).into()),
        value => value.clone(),
    };
    let (mut bytes, mut epk) = (Vec::new(), Vec::new());
    write_for_hash(&short, 0, &mut bytes);
    write_number(f64::from(murmur3_32(&mut &*bytes, 0).unwrap_or_default()), &mut epk);
    match (value, &short) {
        (Json::Number(number), _) => write_number(*number, &mut epk),
        (Json::Text(text), Json::Text(short)) => {
            epk.push(8);
            epk.extend(short.bytes().take(V1_BYTES + 1).map(|byte| byte.wrapping_add(1)));
            if short.len() <= V1_BYTES {
                epk.push(0);
            }
            if text.len() >= V1_BYTES {
                epk.extend(hash_v2(text.as_bytes()));
            }
        }
        _ => write_for_hash(&short, 0, &mut epk),
    }
    epk
}

/// Returns the first UTF-16 code units of a text; the half of a pair becomes U+FFFD, as in the service.
fn first_units(text: &str) -> String {
    let mut units = 0;
    let mut short = String::new();
    for character in text.chars() {
        units += character.len_utf16();
        if units > V1_UNITS {
            if units - character.len_utf16() < V1_UNITS {
                short.push('\u{fffd}');
            }
            break;
        }
        short.push(character);
    }
    short
}

fn write_for_hash(value: &Json, end_of_text: u8, to: &mut Vec<u8>) {
    match value {
        Json::Null => to.push(1),
        Json::Bool(false) => to.push(2),
        Json::Bool(true) => to.push(3),
        Json::Number(number) => {
            to.push(5);
            to.extend(number.to_le_bytes());
        }
        Json::Text(text) => {
            to.push(8);
            to.extend(text.as_bytes());
            to.push(end_of_text);
        }
        Json::Array(_) | Json::Object(_) => to.push(0),
    }
}

/// Writes a number in the order-preserving form of version 1: seven bits in a byte, the lowest bit says that more
/// follow.
fn write_number(number: f64, to: &mut Vec<u8>) {
    let mut bits = ordered_bits(number);
    to.push(5);
    to.push(bits.to_be_bytes()[0]);
    bits <<= 8;
    let mut next = None;
    while bits != 0 {
        to.extend(next);
        next = Some(bits.to_be_bytes()[0] | 1);
        bits <<= 7;
    }
    to.push(next.unwrap_or(0) & 0xfe);
}

fn ordered_bits(number: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = number.to_bits();
    if bits < SIGN { bits ^ SIGN } else { (!bits).wrapping_add(1) }
}

/// Writes an effective partition key in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    HEXUPPER.encode(bytes)
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    HEXUPPER_PERMISSIVE.decode(text.as_bytes()).ok()
}

impl EpkRange {
    /// Returns the whole hash space.
    pub fn all() -> Self {
        Self { from: Vec::new(), until: vec![0xff] }
    }

    /// Returns the range of one effective partition key.
    pub(crate) fn point(epk: Vec<u8>) -> Self {
        Self { until: successor(&epk), from: epk }
    }

    /// Returns true if the range has a single effective partition key.
    pub(crate) fn is_point(&self) -> bool {
        !self.from.is_empty() && successor(&self.from) == self.until
    }

    /// Returns the part that both ranges have.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let (from, until) = ((&self.from).max(&other.from), (&self.until).min(&other.until));
        Self { from: from.clone(), until: until.clone() }
    }

    /// Returns true if the range has an effective partition key, or the key of an item, which begins with one.
    pub fn contains(&self, epk: &[u8]) -> bool {
        *self.from <= *epk && *epk < *self.until
    }
}

/// Returns the next effective partition key of the same length.
pub(super) fn successor(epk: &[u8]) -> Vec<u8> {
    let mut next = epk.to_vec();
    for byte in next.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return next;
        }
    }
    vec![0xff]
}

/// Returns the bounds between this number of equal parts of the hash space.
pub(super) fn bounds(parts: u32, version: u8) -> Vec<Vec<u8>> {
    (1..parts)
        .map(|part| {
            if version == 1 {
                let mut bound = Vec::new();
                write_number(f64::from(u32::MAX) / f64::from(parts) * f64::from(part), &mut bound);
                bound
            } else {
                let bound = (1_u128 << 126) / u128::from(parts) * u128::from(part) - 1;
                bound.to_be_bytes().to_vec()
            }
        })
        .collect()
}

/// Returns the bound in front of an effective partition key: of version 1 its hash alone, so that what the SDKs
/// compute is on the same side.
pub(super) fn bound_before(epk: &[u8], version: u8) -> Vec<u8> {
    if version != 1 {
        return epk.to_vec();
    }
    let end = epk.iter().skip(2).position(|byte| byte & 1 == 0).map_or(epk.len(), |end| end + 3);
    epk.iter().take(end).copied().collect()
}

pub(super) fn middle(range: &EpkRange, version: u8) -> Option<Vec<u8>> {
    let number = |bytes: &[u8]| {
        let mut padded = [0; 16];
        bytes.iter().zip(&mut padded).for_each(|(byte, to)| *to = *byte);
        u128::from_be_bytes(padded)
    };
    let is_end = *range.until == [0xff] && version != 1;
    let until = if is_end { 1 << 126 } else { number(&range.until) };
    let from = number(&range.from);
    let middle = from + until.checked_sub(from)? / 2;
    let middle = middle.to_be_bytes().to_vec();
    (range.from < middle && middle < range.until).then_some(middle)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::sql::tests::cases;

    fn hex_of(values: &Value, version: u8) -> String {
        let values = Json::parse(values.to_string().as_bytes()).unwrap();
        let values = values_of_key(&values, 4).unwrap();
        hex(&hash(&values, version))
    }

    /// The expected values are those of the service's SDKs.
    #[test]
    fn hashes_are_those_of_the_sdks() {
        let table = r#"
            "" => 05C1CF33970FF80800 32E9366E637A71B4E710384B2F4970A0
            "partitionKey" => 05C1E1B3D9CD2608716273756A756A706F4C667A00 013AEFCF77FA271571CF665A58C933F1
            null => 05C1ED45D7475601 378867E4430E67857ACE5C908374FE16
            true => 05C1D7C5A903D803 0E711127C5B5A8E4726AC6DD306A3E59
            false => 05C1DB857D857C02 2FE1BE91E90A3439635E0E9E37361EF2
            -128 => 05C1D73349F54C053FA0 01DAEDABF913540367FE219B2AD06148
            127 => 05C1DD539DDFCC05C05FE0 0C507ACAC853ECA7977BF4CEFB562A25
            -9223372036854775808.0 => 05C1DB35F33D1C053C20 23D5C6395512BDFEAFADAD15328AD2BB
            2147483647 => 05C1E1F503DFB205C1DFFFFFFFFC 2D9349D64712AEB5EB1406E2F0BE2725
            5e-324 => 05C1E5C91F4D3005800101010101010102 0E6CBA63A280927DE485DEF865800139
            1.7976931348623157e308 => 05C1CBE367C53005FFEFFFFFFFFFFFFFFE 31424D996457102634591FF245DBCC4D
        "#;
        for (value, hashes) in cases(table) {
            let value = json!([value.parse::<Value>().unwrap()]);
            let found = [1, 2].map(|version| hex_of(&value, version));
            assert_eq!(found.join(" "), hashes, "{value}");
        }
        assert_eq!(hex_of(&json!(["a".repeat(1024)]), 2), "332BDF5512AE49615F32C7D98C2DB86C");
        assert_eq!(
            hex_of(&json!([5.0, "redmond"]), 2),
            "19C08621B135968252FB34B4CF66F81122E342F38A486A088463DFF7838A5963"
        );
    }

    #[test]
    fn long_texts_of_version_1_are_cut_as_the_sdks_cut_them() {
        let a = |length| "a".repeat(length);
        for (text, begin, end) in [
            (a(1024), "05C1EB5921F70608", "6262626200"),
            (format!("tenant\0{}\u{e9}", a(91)), "05C1EFBD31E1740875666F626F750162", "6262C4AA00"),
            (format!("tenant\0{}\u{e9}z", a(92)), "05C1C7CDE1BBB00875666F626F750162", "626262C4AA"),
            (format!("{}\u{1f600}", a(98)), "05C1DD87B7E74C0862626262", "62F1A099"),
            (format!("{}\u{1f600}", a(99)), "05C1E153DB45580862626262", "626262F0C0"),
            (format!("{}\u{20ac}", a(99)), "05C1D747E54D900862626262", "6262E383"),
        ] {
            let found = hex_of(&json!([text]), 1);
            let sdk = found.strip_suffix(&hex(&hash_v2(text.as_bytes()))).unwrap();
            assert!(sdk.starts_with(begin) && sdk.ends_with(end), "{found}");
        }
    }

    proptest! {
        #[test]
        fn a_key_is_in_its_own_range_alone(one in ".{0,3}|a{95,110}.?", other in ".{0,3}|a{95,110}.?", version in 1..3_u8) {
            let epk = |text: &str| hash(&[Json::Text(text.into())], version);
            let range = EpkRange::point(epk(&one));
            prop_assert!(range.is_point());
            prop_assert!(range.contains(&epk(&one)));
            prop_assert_eq!(range.contains(&epk(&other)), one == other);
            prop_assert!(bound_before(&epk(&one), version) <= epk(&one));
        }
    }
}
