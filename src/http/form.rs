//! The fields of a JSON body, checked one by one.
//!
//! A body is never made into values as a whole, which could take 16 times the memory of its text: a
//! list of `0,` is 32 bytes for each two. [`check`] reads it through and keeps nothing. Then each field
//! is looked for in the text when it is taken, and parsed by itself; a list beyond its length is
//! refused before its elements are parsed. So fields that nobody takes cost no memory, and those that
//! are taken about as much as their text.

use std::{fmt, ops::RangeInclusive};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::FieldError;
use crate::values::Invalid;

/// How many bad values a form names.
const MAX_ERRORS: usize = 100;

/// How many bad values each object of a list names that is checked on its own.
const MAX_ERRORS_OF_ELEMENT: usize = 10;

/// What can be made of the fields of a body.
pub trait FromForm: Sized {
    /// Takes the fields it needs; `None` when one of them was not good, and the form knows which.
    fn from_form(form: &mut Form) -> Option<Self>;
}

/// The fields of a body, and what was wrong with those taken so far.
///
/// A caller learns of all bad fields at once, up to a limit. Fields that nobody takes are ignored, and
/// of two with one name the last counts.
pub struct Form<'a> {
    /// The object as it was sent.
    text: &'a str,
    /// The place of the object in the body: empty, or `addresses[2].`.
    place: String,
    errors: Vec<FieldError>,
    max_errors: usize,
}

impl<'a> Form<'a> {
    /// The fields of an object, which was sent as `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, place: String::new(), errors: Vec::new(), max_errors: MAX_ERRORS }
    }

    /// Returns what was wrong with the fields taken so far.
    pub(super) fn into_errors(self) -> Vec<FieldError> {
        self.errors
    }

    /// Takes a text that must be there.
    pub fn text<T>(&mut self, field: &str, parse: fn(String) -> Result<T, Invalid>) -> Option<T> {
        let parsed = self.must_have(field).and_then(|raw| text(raw, parse));
        self.note(field, parsed)
    }

    /// Takes a text that may be missing, or null.
    pub fn optional_text<T>(
        &mut self,
        field: &str,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<Option<T>> {
        let parsed = self.given(field).map(|raw| text(raw, parse)).transpose();
        self.note(field, parsed)
    }

    /// Takes a number that must be there, as it was written.
    pub fn number<T>(&mut self, field: &str, parse: fn(&str) -> Result<T, Invalid>) -> Option<T> {
        let is_number = |raw: &str| raw.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let parsed = self.must_have(field).and_then(|raw| {
            if is_number(raw) { parse(raw) } else { Err("must be a number".into()) }
        });
        self.note(field, parsed)
    }

    /// Takes a list of texts that must be there.
    pub fn texts<T>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<Vec<T>> {
        let elements = self.list(field, &length)?;
        let mut taken = Vec::with_capacity(elements.len());
        for (index, raw) in elements.into_iter().enumerate() {
            let parsed = text(raw, parse);
            taken.push(self.note(&format!("{field}[{index}]"), parsed));
        }
        taken.into_iter().collect()
    }

    /// Takes a list of texts that may be missing, or null.
    pub fn optional_texts<T>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<Option<Vec<T>>> {
        match self.given(field) {
            None => Some(None),
            Some(_) => self.texts(field, length, parse).map(Some),
        }
    }

    /// Takes an object that may be missing, or null, as it was written.
    pub fn optional_object<T>(
        &mut self,
        field: &str,
        parse: fn(&str) -> Result<T, Invalid>,
    ) -> Option<Option<T>> {
        let parsed = self.given(field).map(|raw| object(raw).and_then(parse)).transpose();
        self.note(field, parsed)
    }

    /// Takes a list of objects that must be there, each on its own: one that is not good does not
    /// spoil the others. The errors name fields of the object.
    pub fn each_object<T: FromForm>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
    ) -> Option<Vec<Result<T, Vec<FieldError>>>> {
        let elements = self.list(field, &length)?;
        Some(elements.into_iter().map(one).collect())
    }

    /// Takes a list of objects that must be there.
    pub fn objects<T: FromForm>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
    ) -> Option<Vec<T>> {
        let elements = self.list(field, &length)?;
        let mut taken = Vec::with_capacity(elements.len());
        for (index, raw) in elements.into_iter().enumerate() {
            let parsed = object(raw);
            let Some(text) = self.note(&format!("{field}[{index}]"), parsed) else {
                taken.push(None);
                continue;
            };
            let place = format!("{}{field}[{index}].", self.place);
            let max_errors = self.max_errors - self.errors.len();
            let mut form = Form { place, max_errors, ..Form::new(text) };
            taken.push(T::from_form(&mut form));
            self.errors.append(&mut form.errors);
        }
        taken.into_iter().collect()
    }

    fn list(&mut self, field: &str, length: &RangeInclusive<usize>) -> Option<Vec<&'a str>> {
        let (min, max) = (length.start(), length.end());
        let list = self.must_have(field).and_then(|raw| {
            if !raw.starts_with('[') {
                return Err("must be a list".into());
            }
            read(raw, Elements { max: *max })
                .filter(|elements| length.contains(&elements.len()))
                .ok_or_else(|| Invalid(format!("must have {min} to {max} elements")))
        });
        self.note(field, list)
    }

    fn must_have(&self, field: &str) -> Result<&'a str, Invalid> {
        self.find(field).ok_or_else(|| "is missing".into())
    }

    /// Returns the text of a field that is neither missing nor null.
    fn given(&self, field: &str) -> Option<&'a str> {
        self.find(field).filter(|raw| *raw != "null")
    }

    fn find(&self, field: &str) -> Option<&'a str> {
        read(self.text, Find(field)).flatten()
    }

    fn note<T>(&mut self, field: &str, parsed: Result<T, Invalid>) -> Option<T> {
        let Invalid(message) = match parsed {
            Ok(parsed) => return Some(parsed),
            Err(invalid) => invalid,
        };
        if self.errors.len() < self.max_errors {
            self.errors.push(FieldError { field: format!("{}{field}", self.place), message });
        }
        None
    }
}

/// What a text that is read through without being kept is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checked {
    Object,
    Other,
}

/// Reads a JSON text through, with the checks that parsing it into values would make: its escapes, its
/// numbers, its depth.
pub(super) fn check(bytes: &[u8]) -> serde_json::Result<Checked> {
    serde_json::from_slice(bytes)
}

fn one<T: FromForm>(raw: &str) -> Result<T, Vec<FieldError>> {
    let text = object(raw)
        .map_err(|Invalid(message)| vec![FieldError { field: String::new(), message }])?;
    let mut form = Form { max_errors: MAX_ERRORS_OF_ELEMENT, ..Form::new(text) };
    T::from_form(&mut form).ok_or(form.errors)
}

fn object(raw: &str) -> Result<&str, Invalid> {
    if raw.starts_with('{') { Ok(raw) } else { Err("must be an object".into()) }
}

fn text<T>(raw: &str, parse: fn(String) -> Result<T, Invalid>) -> Result<T, Invalid> {
    // Any other value is not parsed at all.
    let text = Some(raw).filter(|raw| raw.starts_with('"'));
    match text.and_then(|raw| serde_json::from_str(raw).ok()) {
        Some(text) => parse(text),
        None => Err("must be a string".into()),
    }
}

/// Reads something out of a text that [`check`] has read before; `None` where it is of another kind.
fn read<'a, S: DeserializeSeed<'a>>(text: &'a str, seed: S) -> Option<S::Value> {
    seed.deserialize(&mut serde_json::Deserializer::from_str(text)).ok()
}

/// Looks for a field of an object and returns its text.
struct Find<'f>(&'f str);

/// Returns the texts of the elements of a list: of one more than `max` at most.
struct Elements {
    max: usize,
}

/// Returns true if the name of a field is this.
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

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Through;

        impl<'de> Visitor<'de> for Through {
            type Value = Checked;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Checked, E> {
                Ok(Checked::Other)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Checked, E> {
                Ok(Checked::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Checked, E> {
                Ok(Checked::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Checked, E> {
                Ok(Checked::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Checked, E> {
                Ok(Checked::Other)
            }

            fn visit_str<E>(self, _: &str) -> Result<Checked, E> {
                Ok(Checked::Other)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Checked, A::Error> {
                while list.next_element::<Checked>()?.is_some() {}
                Ok(Checked::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Checked, A::Error> {
                while fields.next_entry::<Checked, Checked>()?.is_some() {}
                Ok(Checked::Object)
            }
        }

        deserializer.deserialize_any(Through)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Line(String, String);

    impl FromForm for Line {
        fn from_form(form: &mut Form) -> Option<Self> {
            let name = form.text("name", Ok);
            let price = form.number("price", |text| Ok(text.to_owned()));
            Some(Self(name?, price?))
        }
    }

    fn form(text: &str) -> Form<'_> {
        assert_eq!(check(text.as_bytes()).unwrap(), Checked::Object);
        Form::new(text)
    }

    #[test]
    fn a_number_is_taken_as_it_was_written() {
        let text = r#"{"price": 0.1, "lines": [{"name": "a", "price": 1.10}, {"name": "b", "price": 1e2}],
            "price": 0.1000000000000000055}"#;
        let mut form = form(text);
        let price = form.number("price", |text| Ok(text.to_owned()));
        assert_eq!(price.as_deref(), Some("0.1000000000000000055"));
        let lines: Vec<Line> = form.objects("lines", 1..=2).unwrap();
        let lines: Vec<_> = lines.iter().map(|Line(name, price)| (&**name, &**price)).collect();
        assert_eq!(lines, [("a", "1.10"), ("b", "1e2")]);
        assert_eq!(form.into_errors(), []);
    }

    #[test]
    fn every_bad_field_is_named_with_its_place() {
        let text = r#"{"lines": [{"name": 1}, 5, {"price": "1"}], "tags": ["a", 1], "few": [],
            "many": ["a", "b"], "none": null, "number": "1"}"#;
        let mut form = form(text);
        assert!(form.objects::<Line>("lines", 0..=9).is_none());
        assert!(form.texts("tags", 0..=9, Ok).is_none());
        assert!(form.texts("few", 1..=9, Ok).is_none());
        assert!(form.texts("many", 0..=1, Ok).is_none());
        assert!(form.texts("none", 0..=1, Ok).is_none());
        assert!(form.texts("absent", 0..=1, Ok).is_none());
        assert!(form.number("number", |_| Ok(())).is_none());
        assert_eq!(form.optional_text("none", Ok), Some(None));
        assert_eq!(form.optional_text("absent", Ok), Some(None));
        let errors = form.into_errors();
        let errors: Vec<_> =
            errors.iter().map(|one| format!("{} {}", one.field, one.message)).collect();
        assert_eq!(
            errors,
            [
                "lines[0].name must be a string",
                "lines[0].price is missing",
                "lines[1] must be an object",
                "lines[2].name is missing",
                "lines[2].price must be a number",
                "tags[1] must be a string",
                "few must have 1 to 9 elements",
                "many must have 0 to 1 elements",
                "none must be a list",
                "absent is missing",
                "number must be a number",
            ]
        );
    }
}
