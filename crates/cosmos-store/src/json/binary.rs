//! The binary JSON of the Rust SDK: a marker byte for each value, little-endian lengths and numbers.
//!
//! The format is that of `binary_json` in its driver. The forms that its writer does not have, such as compressed texts
//! and texts of a dictionary, are refused.

use super::Json;

/// The first byte.
pub(super) const PREAMBLE: u8 = 0x80;

/// As for text JSON.
const MAX_LEVELS: usize = 128;

/// Reads a message: the preamble and a value.
pub(super) fn read(message: &[u8]) -> Option<Json> {
    let mut reader = Reader(message.get(1..)?);
    let value = reader.value(MAX_LEVELS)?;
    reader.0.is_empty().then_some(value)
}

/// The bytes that have not been read yet.
struct Reader<'m>(&'m [u8]);

impl<'m> Reader<'m> {
    fn bytes(&mut self, length: usize) -> Option<&'m [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn unsigned(&mut self, bytes: usize) -> Option<u64> {
        let mut number = [0; 8];
        number.get_mut(..bytes)?.copy_from_slice(self.bytes(bytes)?);
        Some(u64::from_le_bytes(number))
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    #[allow(clippy::cast_precision_loss, reason = "the numbers of the service are doubles")]
    fn value(&mut self, levels: usize) -> Option<Json> {
        let levels = levels.checked_sub(1)?;
        let marker = self.byte()?;
        let number = match marker {
            0x00..0x20 => marker.into(),
            0xc7 => self.unsigned(8)? as f64,
            0xcb => self.unsigned(8)?.cast_signed() as f64,
            0xcc => f64::from_bits(self.unsigned(8)?),
            0xd0 => return Some(Json::Null),
            0xd1 | 0xd2 => return Some(Json::Bool(marker == 0xd2)),
            0xe5..=0xe7 => {
                let mut inner = self.inner(marker - 0xe5)?;
                let mut values = Vec::new();
                while !inner.0.is_empty() {
                    values.push(inner.value(levels)?);
                }
                return Some(Json::Array(values));
            }
            0xed..=0xef => {
                let mut inner = self.inner(marker - 0xed)?;
                let mut properties = Vec::new();
                while !inner.0.is_empty() {
                    let marker = inner.byte()?;
                    properties.push((inner.text(marker)?.into(), inner.value(levels)?));
                }
                return Some(Json::Object(properties));
            }
            _ => return Some(Json::text(self.text(marker)?)),
        };
        number.is_finite().then_some(Json::Number(number))
    }

    /// Returns the bytes of an array or object, behind its length and its count.
    fn inner(&mut self, width: u8) -> Option<Self> {
        let length = self.unsigned(1 << width)?;
        self.unsigned(1 << width)?;
        self.bytes(length.try_into().ok()?).map(Self)
    }

    fn text(&mut self, marker: u8) -> Option<&'m str> {
        let length = match marker {
            0x80..0xc0 => u64::from(marker - 0x80),
            0xc0..=0xc2 => self.unsigned(1 << (marker - 0xc0))?,
            _ => return None,
        };
        str::from_utf8(self.bytes(length.try_into().ok()?)?).ok()
    }
}
