//! JSON texts that are read without parsing them into values, which could take 16 times the memory of the
//! text: in a list of `0,` two bytes become 32. [`is_object`] reads a text through and keeps nothing. Fields and
//! elements are slices of the text.

use std::fmt;

use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::values::compact_bytes;

/// Reads a JSON text through, with the same checks as parsing it into values. Returns true for an object.
pub(super) fn is_object(bytes: &[u8]) -> serde_json::Result<bool> {
    compact_bytes(bytes)?;
    Ok(bytes.trim_ascii_start().starts_with(b"{"))
}

/// Returns the text of a field of an object that [`is_object`] has accepted; of two with one name the last.
pub(super) fn field<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    serde_json::Deserializer::from_str(object).deserialize_map(Find(name)).ok().flatten()
}

/// Returns the texts of the elements of a list that [`is_object`] has accepted: at most `max` and one more.
pub(super) fn elements(list: &str, max: usize) -> Option<Vec<&str>> {
    serde_json::Deserializer::from_str(list).deserialize_seq(Elements { max }).ok()
}

struct Find<'f>(&'f str);

struct Elements {
    max: usize,
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = fields.next_key::<String>()? {
            if name == self.0 {
                found = Some(fields.next_value::<&RawValue>()?.get());
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
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
