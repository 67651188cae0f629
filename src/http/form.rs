//! The fields of a JSON body, checked one by one.

use std::{collections::BTreeMap, ops::RangeInclusive};

use serde_json::{Map, Value, value::RawValue};

use super::FieldError;
use crate::values::Invalid;

/// What can be made of the fields of a body.
pub trait FromForm: Sized {
    /// Takes the fields it needs; `None` when one of them was not good, and the form knows which.
    fn from_form(form: &mut Form) -> Option<Self>;
}

/// The fields of a body, and what was wrong with those taken so far.
///
/// A caller learns of all bad fields at once. Fields that nobody takes are ignored.
pub struct Form<'a> {
    fields: Map<String, Value>,
    /// The object as it was sent: a [`Value`] keeps a decimal number as a binary one.
    text: &'a str,
    /// The place of the object in the body: empty, or `addresses[2].`.
    place: String,
    errors: Vec<FieldError>,
}

impl<'a> Form<'a> {
    /// The fields of a whole body, which was sent as `text`.
    pub(super) fn new(fields: Map<String, Value>, text: &'a str) -> Self {
        Self { fields, text, place: String::new(), errors: Vec::new() }
    }

    /// Returns what was wrong with the fields taken so far.
    pub(super) fn into_errors(self) -> Vec<FieldError> {
        self.errors
    }

    /// Takes a text that must be there.
    pub fn text<T>(&mut self, field: &str, parse: fn(String) -> Result<T, Invalid>) -> Option<T> {
        let parsed = match self.fields.remove(field) {
            Some(value) => text(value, parse),
            None => Err(missing()),
        };
        self.note(field, parsed)
    }

    /// Takes a text that may be missing, or null.
    pub fn optional_text<T>(
        &mut self,
        field: &str,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<Option<T>> {
        let parsed = match self.fields.remove(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => text(value, parse).map(Some),
        };
        self.note(field, parsed)
    }

    /// Takes a number that must be there, as it was written.
    pub fn number<T>(&mut self, field: &str, parse: fn(&str) -> Result<T, Invalid>) -> Option<T> {
        let parsed = match self.fields.remove(field) {
            Some(Value::Number(_)) => match raw_fields(self.text).get(field) {
                Some(raw) => parse(raw.get()),
                None => Err(missing()),
            },
            Some(_) => Err("must be a number".into()),
            None => Err(missing()),
        };
        self.note(field, parsed)
    }

    /// Takes a list of texts that must be there.
    pub fn texts<T>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<Vec<T>> {
        let values = self.list(field, &length)?;
        let mut taken = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let parsed = text(value, parse);
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
        match self.fields.get(field) {
            None | Some(Value::Null) => Some(None),
            Some(_) => self.texts(field, length, parse).map(Some),
        }
    }

    /// Takes an object that may be missing, or null.
    pub fn optional_object<T>(
        &mut self,
        field: &str,
        parse: fn(Map<String, Value>) -> Result<T, Invalid>,
    ) -> Option<Option<T>> {
        let parsed = match self.fields.remove(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => parse(object).map(Some),
            Some(_) => Err("must be an object".into()),
        };
        self.note(field, parsed)
    }

    /// Takes a list of objects that must be there, each on its own: one that is not good does not
    /// spoil the others. The errors name fields of the object.
    pub fn each_object<T: FromForm>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
    ) -> Option<Vec<Result<T, Vec<FieldError>>>> {
        let values = self.list(field, &length)?;
        Some(values.into_iter().map(one).collect())
    }

    /// Takes a list of objects that must be there.
    pub fn objects<T: FromForm>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
    ) -> Option<Vec<T>> {
        let raw = raw_fields(self.text).remove(field);
        let texts: Vec<&RawValue> =
            raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let values = self.list(field, &length)?;
        let mut taken = Vec::with_capacity(values.len());
        for (index, (value, text)) in values.into_iter().zip(texts).enumerate() {
            let Value::Object(fields) = value else {
                let refused: Result<T, _> = Err("must be an object".into());
                taken.push(self.note(&format!("{field}[{index}]"), refused));
                continue;
            };
            let place = format!("{}{field}[{index}].", self.place);
            let mut form = Form { place, ..Form::new(fields, text.get()) };
            taken.push(T::from_form(&mut form));
            self.errors.append(&mut form.errors);
        }
        taken.into_iter().collect()
    }

    fn list(&mut self, field: &str, length: &RangeInclusive<usize>) -> Option<Vec<Value>> {
        let (min, max) = (length.start(), length.end());
        let list = match self.fields.remove(field) {
            Some(Value::Array(list)) if length.contains(&list.len()) => Ok(list),
            Some(Value::Array(_)) => Err(Invalid(format!("must have {min} to {max} elements"))),
            Some(_) => Err("must be a list".into()),
            None => Err(missing()),
        };
        self.note(field, list)
    }

    fn note<T>(&mut self, field: &str, parsed: Result<T, Invalid>) -> Option<T> {
        let place = &self.place;
        parsed
            .map_err(|Invalid(message)| {
                self.errors.push(FieldError { field: format!("{place}{field}"), message });
            })
            .ok()
    }
}

fn one<T: FromForm>(value: Value) -> Result<T, Vec<FieldError>> {
    let text = value.to_string();
    let Value::Object(fields) = value else {
        let message = "must be an object".to_owned();
        return Err(vec![FieldError { field: String::new(), message }]);
    };
    let mut form = Form::new(fields, &text);
    T::from_form(&mut form).ok_or(form.errors)
}

fn missing() -> Invalid {
    "is missing".into()
}

fn text<T>(value: Value, parse: fn(String) -> Result<T, Invalid>) -> Result<T, Invalid> {
    match value {
        Value::String(text) => parse(text),
        _ => Err("must be a string".into()),
    }
}

/// The fields of an object with the text of each. Of two with one name the last counts, as in
/// [`Value`].
fn raw_fields(text: &str) -> BTreeMap<String, &RawValue> {
    serde_json::from_str(text).unwrap_or_default()
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
        Form::new(serde_json::from_str(text).unwrap(), text)
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
