//! JSON values as the service holds them: numbers are doubles, and properties keep their order.

use crate::Refusal;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(Box<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object: its properties in their order. Of two with one name, the last one counts.
    Object(Vec<(Box<str>, Json)>),
}

impl Json {
    /// Reads text JSON, or the binary JSON of the SDKs (its first byte is 0x80).
    ///
    /// # Errors
    /// 400 for anything else, and for more than 128 levels.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let _ = bytes;
        todo!()
    }

    /// Reads an object in text JSON, but only these properties of it: the others are skipped, which is several
    /// times faster than reading them.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse_only(bytes: &[u8], names: &[&str]) -> Result<Self, Refusal> {
        let _ = (bytes, names);
        todo!()
    }

    /// Returns a property of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let _ = name;
        todo!()
    }

    /// Appends the value as text JSON. A whole number below 2^53 has neither fraction nor exponent.
    pub fn write(&self, to: &mut Vec<u8>) {
        let _ = to;
        todo!()
    }
}
