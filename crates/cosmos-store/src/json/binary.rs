//! The binary JSON of the SDKs: a marker byte for each value, little-endian lengths and numbers.
//!
//! The format is that of `JsonBinaryEncoding` in Microsoft's .NET SDK and of `binary_json` in its Rust driver. User
//! strings (0x40 to 0x67), which need a dictionary that the protocol does not carry, and half-precision numbers, which
//! the service does not have, are refused.

use base64::{Engine, engine::general_purpose};

use super::Json;

/// The first byte.
pub(super) const PREAMBLE: u8 = 0x80;

/// As for text JSON.
const MAX_LEVELS: usize = 128;

/// The bytes that references to texts, and empty arrays, may make of a message.
const MAX_COPIED_BYTES: usize = 64 << 20;

/// The texts that have a marker of their own, from 0x20 on.
const SYSTEM_TEXTS: [&str; 32] = [
    "$s",
    "$t",
    "$v",
    "_attachments",
    "_etag",
    "_rid",
    "_self",
    "_ts",
    "attachments/",
    "coordinates",
    "geometry",
    "GeometryCollection",
    "id",
    "url",
    "Value",
    "label",
    "LineString",
    "link",
    "MultiLineString",
    "MultiPoint",
    "MultiPolygon",
    "name",
    "Name",
    "Type",
    "Point",
    "Polygon",
    "properties",
    "type",
    "value",
    "Feature",
    "FeatureCollection",
    "_id",
];

const LOWER_HEX: &[u8; 16] = b"0123456789abcdef";
const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";
const DATE_TIME: &[u8; 16] = b" 0123456789:-.TZ";

/// Reads a message: the preamble and a value.
pub(super) fn read(message: &[u8]) -> Option<Json> {
    let mut reader = Reader { message, at: 1, copied: 0 };
    let value = reader.value(MAX_LEVELS)?;
    (reader.at == message.len()).then_some(value)
}

struct Reader<'m> {
    message: &'m [u8],
    at: usize,
    copied: usize,
}

impl Reader<'_> {
    fn bytes(&mut self, length: usize) -> Option<&[u8]> {
        let begin = self.at;
        self.at = begin.checked_add(length)?;
        self.message.get(begin..self.at)
    }

    /// Reads a number of so many bytes.
    fn unsigned(&mut self, bytes: usize) -> Option<u64> {
        let mut number = [0; 8];
        number.get_mut(..bytes)?.copy_from_slice(self.bytes(bytes)?);
        Some(u64::from_le_bytes(number))
    }

    #[allow(clippy::cast_precision_loss, reason = "the numbers of the service are doubles")]
    fn signed(&mut self, bytes: usize) -> Option<f64> {
        let unused = 64 - 8 * u32::try_from(bytes).ok()?;
        Some((self.unsigned(bytes)?.cast_signed() << unused >> unused) as f64)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    fn length(&mut self, bytes: usize) -> Option<usize> {
        self.unsigned(bytes)?.try_into().ok()
    }

    fn value(&mut self, levels: usize) -> Option<Json> {
        let levels = levels.checked_sub(1)?;
        let marker = self.byte()?;
        match marker {
            0xd0 => Some(Json::Null),
            0xd1 | 0xd2 => Some(Json::Bool(marker == 0xd2)),
            0xe0 => Some(Json::Array(Vec::new())),
            0xe1 => Some(Json::Array(vec![self.value(levels)?])),
            0xe2..=0xe7 => {
                let end = self.end(marker - 0xe2)?;
                let mut values = Vec::new();
                while self.at < end {
                    values.push(self.value(levels)?);
                }
                (self.at == end).then_some(Json::Array(values))
            }
            0xe8 => Some(Json::Object(Vec::new())),
            0xe9 => Some(Json::Object(vec![self.property(levels)?])),
            0xea..=0xef => {
                let end = self.end(marker - 0xea)?;
                let mut properties = Vec::new();
                while self.at < end {
                    properties.push(self.property(levels)?);
                }
                (self.at == end).then_some(Json::Object(properties))
            }
            0xf0 | 0xf1 => {
                let item = self.byte()?;
                let count = self.length(usize::from(marker - 0xef))?;
                self.numbers(item, count)
            }
            0xf2 | 0xf3 => {
                // The marker of the inner arrays, which says the same as that of the outer one.
                (self.byte()? == marker - 2).then_some(())?;
                let width = usize::from(marker - 0xf1);
                let (item, inner, outer) = (self.byte()?, self.length(width)?, self.length(width)?);
                // Empty arrays take no bytes of the message.
                self.copy(outer.checked_mul(size_of::<Json>())?)?;
                let arrays = (0..outer).map(|_| self.numbers(item, inner));
                arrays.collect::<Option<_>>().map(Json::Array)
            }
            0x00..0x20 => Some(Json::Number(marker.into())),
            0xc7..=0xce | 0xd7..=0xdc => self.number(marker),
            _ => Some(Json::Text(self.text(marker)?.into())),
        }
    }

    /// Reads the length of an array or object, and its count where there is one; returns where it ends.
    fn end(&mut self, kind: u8) -> Option<usize> {
        let width = 1 << (kind % 3);
        let length = self.length(width)?;
        if kind >= 3 {
            self.length(width)?;
        }
        self.at.checked_add(length).filter(|end| *end <= self.message.len())
    }

    fn property(&mut self, levels: usize) -> Option<(Box<str>, Json)> {
        let marker = self.byte()?;
        Some((self.text(marker)?.into(), self.value(levels)?))
    }

    /// Reads numbers without markers.
    fn numbers(&mut self, item: u8, count: usize) -> Option<Json> {
        let is_number = matches!(item, 0xcd | 0xce | 0xd7..=0xdc);
        let numbers = (0..count).map(|_| self.number(item));
        is_number.then(|| numbers.collect::<Option<_>>().map(Json::Array))?
    }

    #[allow(clippy::cast_precision_loss, reason = "the numbers of the service are doubles")]
    fn number(&mut self, marker: u8) -> Option<Json> {
        let number = match marker {
            0xc8 | 0xd7 => self.byte()?.into(),
            0xd8 => self.signed(1)?,
            0xc9 | 0xd9 => self.signed(2)?,
            0xca | 0xda => self.signed(4)?,
            0xcb | 0xdb => self.signed(8)?,
            0xdc => self.unsigned(4)? as f64,
            0xc7 => self.unsigned(8)? as f64,
            0xcd => f32::from_bits(self.unsigned(4)?.try_into().ok()?).into(),
            0xcc | 0xce => f64::from_bits(self.unsigned(8)?),
            _ => return None,
        };
        number.is_finite().then_some(Json::Number(number))
    }

    fn text(&mut self, marker: u8) -> Option<String> {
        match marker {
            0x20..0x40 => {
                SYSTEM_TEXTS.get(usize::from(marker - 0x20)).map(|text| (*text).to_owned())
            }
            0x71..=0x74 => {
                let groups = self.length(usize::from((marker - 0x71) % 2 + 1))?;
                self.base64(groups, marker >= 0x73)
            }
            0x75..=0x77 => {
                let digits = if marker == 0x76 { UPPER_HEX } else { LOWER_HEX };
                let mut guid = self.nibbles(32, digits)?;
                for dash in [20, 16, 12, 8] {
                    guid.insert(dash, '-');
                }
                Some(if marker == 0x77 { format!("\"{guid}\"") } else { guid })
            }
            0x78..=0x7a => {
                let table = [LOWER_HEX, UPPER_HEX, DATE_TIME].get(usize::from(marker - 0x78))?;
                let length = self.length(1)?;
                self.nibbles(length, table)
            }
            0x7b..=0x7f => {
                let length = self.length(if marker == 0x7f { 2 } else { 1 })?;
                let base = if marker < 0x7e { self.byte()? } else { 0 };
                self.packed(length, usize::from(marker - 0x77).min(7), base)
            }
            0x80..0xc0 => self.plain(usize::from(marker - 0x80)),
            0xc0..=0xc2 => {
                let length = self.length(1 << (marker - 0xc0))?;
                self.plain(length)
            }
            0xc3..=0xc6 => {
                let target = self.length(usize::from(marker - 0xc2))?;
                let back = self.at;
                let marker = *self.message.get(target).filter(|_| target < back)?;
                // A reference goes to a text, never to another reference.
                (!(0xc3..=0xc6).contains(&marker)).then_some(())?;
                self.at = target + 1;
                let text = self.text(marker)?;
                self.at = back;
                self.copy(text.len())?;
                Some(text)
            }
            0xd3 => {
                let guid = self.bytes(16)?.try_into().ok()?;
                Some(uuid::Uuid::from_bytes_le(guid).to_string())
            }
            0xdd..=0xdf => {
                let length = self.length(1 << (marker - 0xdd))?;
                Some(general_purpose::STANDARD.encode(self.bytes(length)?))
            }
            _ => None,
        }
    }

    /// Counts bytes that are made, but not by bytes of the message.
    fn copy(&mut self, bytes: usize) -> Option<()> {
        self.copied = self.copied.checked_add(bytes)?;
        (self.copied <= MAX_COPIED_BYTES).then_some(())
    }

    fn plain(&mut self, length: usize) -> Option<String> {
        Some(std::str::from_utf8(self.bytes(length)?).ok()?.to_owned())
    }

    /// Reads a text that is Base64: so many groups of four characters. A padding above two stands inverted for one
    /// that the text left out.
    fn base64(&mut self, groups: usize, url: bool) -> Option<String> {
        let padding = self.byte()?;
        let is_omitted = padding > 2;
        let padding = usize::from(if is_omitted { !padding } else { padding });
        let length = groups.checked_mul(4)?;
        let bytes = self.bytes(length.checked_sub(padding)? * 3 / 4)?;
        let engine = if url { &general_purpose::URL_SAFE } else { &general_purpose::STANDARD };
        let mut text = engine.encode(bytes);
        if is_omitted {
            text.truncate(length - padding);
        }
        Some(text)
    }

    /// Reads so many characters of four bits each, the lower ones first.
    fn nibbles(&mut self, length: usize, table: &[u8; 16]) -> Option<String> {
        let bytes = self.bytes(length.div_ceil(2))?;
        let nibbles = bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]);
        let characters = nibbles.filter_map(|nibble| table.get(usize::from(nibble)));
        Some(characters.take(length).copied().map(char::from).collect())
    }

    /// Reads so many characters of so many bits each.
    fn packed(&mut self, length: usize, bits: usize, base: u8) -> Option<String> {
        let bytes = self.bytes((length * bits).div_ceil(8))?;
        let byte = |at: usize| bytes.get(at).copied().map_or(0, u16::from);
        let character = |n: usize| {
            let window = byte(n * bits / 8) | byte(n * bits / 8 + 1) << 8;
            let value = window >> (n * bits % 8) & ((1 << bits) - 1);
            char::from(value.to_le_bytes()[0].wrapping_add(base))
        };
        Some((0..length).map(character).collect())
    }
}
