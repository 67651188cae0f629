//! JSON values as the service holds them: numbers are doubles, and properties keep their order.

use std::{
    cmp::Ordering,
    fmt::{Formatter, Result as Written},
};

use memchr::memchr2;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Number, Value};

use crate::{Refusal, Result};

mod binary;
#[cfg(test)]
pub(crate) mod tests;

/// A whole number below this is written without a fraction: doubles hold each of them exactly.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A value. Its order is that of ORDER BY: null, false, true, numbers, texts by their code points, arrays, objects. The
/// order of properties does not count.
#[derive(Clone, Debug)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, never infinite or NaN.
    Number(f64),
    /// A text.
    Text(Box<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object: its properties in their order. Of two with one name, the last one counts.
    Object(Vec<(Box<str>, Json)>),
}

impl Json {
    /// Reads text JSON, or the binary JSON of the Rust SDK (its first byte is 0x80).
    ///
    /// # Errors
    /// 400 for anything else, and for more than 128 levels.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        match bytes.first() {
            Some(&binary::PREAMBLE) => binary::read(bytes).ok_or_else(|| {
                let text = "The input content is invalid: it is no binary JSON of the Rust SDK. Switch the binary \
                            encoding of another SDK off.";
                Refusal::new(400, text)
            }),
            _ => serde_json::from_slice(bytes).map_err(|error| invalid(&error)),
        }
    }

    /// Reads an object in text JSON as [`Json::write`] writes it, but only these properties of it: the others are
    /// skipped, which is many times faster than reading them.
    ///
    /// # Errors
    /// 400 for anything else.
    pub fn parse_only(bytes: &[u8], names: &[&str]) -> Result<Self> {
        let read = |(name, text): (&str, &[u8])| Ok((name.into(), Self::parse(text)?));
        Ok(Self::Object(texts(bytes, names)?.into_iter().map(read).collect::<Result<_, _>>()?))
    }

    /// Returns a property of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(properties) = self else { return None };
        properties.iter().rfind(|(found, _)| &**found == name).map(|(_, value)| value)
    }

    pub(crate) fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    /// Appends the value as text JSON. A whole number below 2^53 has neither fraction nor exponent.
    pub fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Null => to.extend_from_slice(b"null"),
            Self::Bool(true) => to.extend_from_slice(b"true"),
            Self::Bool(false) => to.extend_from_slice(b"false"),
            Self::Number(number) => write(to, &self::number(*number)),
            Self::Text(text) => write_text(to, text),
            Self::Array(all) => {
                to.push(b'[');
                for (n, value) in all.iter().enumerate() {
                    if n > 0 {
                        to.push(b',');
                    }
                    value.write(to);
                }
                to.push(b']');
            }
            Self::Object(properties) => {
                to.push(b'{');
                for (n, (name, value)) in properties.iter().enumerate() {
                    if n > 0 {
                        to.push(b',');
                    }
                    write_text(to, name);
                    to.push(b':');
                    value.write(to);
                }
                to.push(b'}');
            }
        }
    }

    /// Creates a text.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(text.into())
    }

    /// Returns the text of a text.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns a number.
    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// Returns the elements of an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(all) = self { Some(all) } else { None }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Number(_) => 2,
            Self::Text(_) => 3,
            Self::Array(_) => 4,
            Self::Object(_) => 5,
        }
    }

    /// Returns true if operators such as `<` have a result for two values: of one type that is no array or object.
    pub(crate) fn compares_with(&self, other: &Self) -> bool {
        self.rank() == other.rank() && self.rank() < 4
    }

    /// Returns about how many bytes the value takes in memory.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Null | Self::Bool(_) | Self::Number(_) => 0,
                Self::Text(text) => text.len(),
                Self::Array(all) => all.iter().map(Self::size).sum(),
                Self::Object(all) => {
                    all.iter().map(|(name, value)| name.len() + 16 + value.size()).sum()
                }
            }
    }
}

/// Returns the texts of these properties of an object, in their order, as [`Json::write`] has written them. Errors:
/// as [`Json::parse_only`].
pub(crate) fn texts<'b, 'n>(
    bytes: &'b [u8],
    names: &[&'n str],
) -> Result<Vec<(&'n str, &'b [u8])>> {
    let mut found = Vec::with_capacity(names.len());
    let mut rest = bytes;
    while let Some((known, value, behind)) = property(rest, names) {
        found.extend(known.map(|known| (known, value)));
        rest = behind;
    }
    let is_object = bytes == b"{}" || bytes.starts_with(b"{") && rest == b"}";
    if is_object { Ok(found) } else { Err(invalid(&"it is no object")) }
}

/// Splits a property from an object: its name, if it is one of these, the text of its value, and what is behind it.
fn property<'b, 'n>(
    bytes: &'b [u8],
    names: &[&'n str],
) -> Option<(Option<&'n str>, &'b [u8], &'b [u8])> {
    // Before a property there is a brace or a comma, before its value a colon.
    let rest = bytes.get(1..)?;
    // Names are short: to call a search would take longer than this.
    let end = rest.iter().skip(1).position(|byte| matches!(byte, b'"' | b'\\'))? + 1;
    let (known, end) = if rest.get(end) == Some(&b'"') {
        let name = rest.get(1..end)?;
        (names.iter().find(|known| known.as_bytes() == name), end + 1)
    } else {
        let end = text_end(rest)?;
        let name = serde_json::from_slice::<String>(rest.get(..end)?).ok()?;
        (names.iter().find(|known| **known == name), end)
    };
    // Without the quote in front, so behind the colon.
    let rest = rest.strip_prefix(b"\"")?.get(end..)?;
    let (value, rest) = rest.split_at_checked(value_end(rest)?)?;
    Some((known.copied(), value, rest))
}

fn text_end(bytes: &[u8]) -> Option<usize> {
    let mut at = bytes.starts_with(b"\"").then_some(1)?;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn value_end(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => at += text_end(bytes.get(at..)?)?,
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' if depth > 0 => (at, depth) = (at + 1, depth - 1),
            b',' | b'}' if depth == 0 => return Some(at),
            _ => at += 1,
        }
    }
}

/// Appends a text. Most have nothing to escape, which a loop over chunks finds out several bytes at a time.
pub(crate) fn write_text(to: &mut Vec<u8>, text: &str) {
    let is_escaped = |byte: &&u8| matches!(byte, 0..b' ' | b'"' | b'\\');
    let is_plain = |chunk: &[u8]| chunk.iter().filter(is_escaped).count() == 0;
    if text.as_bytes().chunks(64).all(is_plain) {
        to.reserve(text.len() + 2);
        to.push(b'"');
        to.extend_from_slice(text.as_bytes());
        to.push(b'"');
    } else {
        write(to, text);
    }
}

/// Appends what serde_json makes of a value; writing to memory does not fail.
fn write<T: serde::Serialize + ?Sized>(to: &mut Vec<u8>, value: &T) {
    let _ = serde_json::to_writer(to, value);
}

#[allow(clippy::cast_possible_truncation, reason = "below 2^53")]
fn number(number: f64) -> Number {
    if number.fract() == 0.0 && number.abs() < MAX_WHOLE {
        return (number as i64).into();
    }
    Number::from_f64(number).unwrap_or_else(|| 0.into())
}

fn invalid(error: &dyn std::fmt::Display) -> Refusal {
    let text = format!("The input content is invalid because the JSON is malformed: {error}");
    Refusal::new(400, text)
}

impl Ord for Json {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(one), Self::Bool(other)) => one.cmp(other),
            // Values are never NaN; -0 is 0.
            (Self::Number(one), Self::Number(other)) => {
                one.partial_cmp(other).unwrap_or(Ordering::Equal)
            }
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Array(one), Self::Array(other)) => one.cmp(other),
            (Self::Object(one), Self::Object(other)) => sorted(one).cmp(&sorted(other)),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Json {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Json {}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

/// Returns the properties of an object by name; of two with one name the last one.
fn sorted(properties: &[(Box<str>, Json)]) -> Vec<(&str, &Json)> {
    let mut sorted: Vec<_> =
        properties.iter().rev().map(|(name, value)| (&**name, value)).collect();
    sorted.sort_by_key(|(name, _)| *name);
    sorted.dedup_by_key(|(name, _)| *name);
    sorted
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        let mut text = Vec::new();
        self.write(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        // A value of serde_json is always one of these.
        Self::deserialize(value).unwrap_or(Self::Null)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(Any)
    }
}

struct Any;

#[allow(clippy::cast_precision_loss, reason = "the numbers of the service are doubles")]
impl<'de> Visitor<'de> for Any {
    type Value = Json;

    fn expecting(&self, f: &mut Formatter<'_>) -> Written {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = all.next_element()? {
            values.push(value);
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Json, A::Error> {
        let mut properties = Vec::new();
        while let Some(property) = all.next_entry()? {
            properties.push(property);
        }
        Ok(Json::Object(properties))
    }
}
