//! JSON texts that are read without parsing them into values, which could take 16 times the memory of the
//! text: in a list of `0,` two bytes become 32. [`is_object`] reads a text through and keeps nothing. Fields and
//! elements are slices of the text.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::values::compact_bytes;

/// Reads a JSON text through, with the same checks as parsing it into values: escapes, numbers, depth. Returns
/// true for an object.
pub(super) fn is_object(bytes: &[u8]) -> serde_json::Result<bool> {
    compact_bytes(bytes)?;
    Ok(bytes.trim_ascii_start().starts_with(b"{"))
}

/// Returns the text of a field of an object that [`is_object`] has accepted; of two with one name the last.
pub(super) fn field<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    read(object, Find(name)).flatten()
}

/// Returns the texts of the elements of a list that [`is_object`] has accepted: at most `max` and one more.
pub(super) fn elements(list: &str, max: usize) -> Option<Vec<&str>> {
    read(list, Elements { max })
}

/// Reads a value out of a text; `None` if the text is of another kind.
fn read<'a, S: DeserializeSeed<'a>>(text: &'a str, seed: S) -> Option<S::Value> {
    seed.deserialize(&mut serde_json::Deserializer::from_str(text)).ok()
}

struct Find<'f>(&'f str);

/// The collection of the texts of a list's elements: at most `max` and one more.
struct Elements {
    max: usize,
}

struct IsName<'f>(&'f str);

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_found) = fields.next_key_seed(IsName(self.0))? {
            if is_found {
                found = Some(fields.next_value::<&RawValue>()?.get());
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

impl<'de> DeserializeSeed<'de> for Elements {
    type Value = Vec<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements {
    type Value = Vec<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while elements.len() <= self.max
            && let Some(element) = list.next_element::<&RawValue>()?
        {
            elements.push(element.get());
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(elements)
    }
}

impl<'de> DeserializeSeed<'de> for IsName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsName<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}
