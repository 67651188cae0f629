//! The fields of a JSON body, checked one by one. Each field is searched for in the text when it is taken
//! ([`raw_json`]), and parsed by itself. A list beyond its length is refused before its elements are parsed. So
//! unused fields cost no memory, and used ones about as much as their text.

use std::ops::RangeInclusive;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{FieldError, raw_json};
use crate::values::{Invalid, Timestamp};

const MAX_ERRORS: usize = 100;

/// The most bad values that are named of each element of a list whose elements are checked on their own.
const MAX_ELEMENT_ERRORS: usize = 10;

/// The length of a text that every rule refuses, in bytes.
const OVERLONG_TEXT_BYTES: usize = 1024 * 1024;

/// A type that is made from the fields of a body.
pub trait FromForm: Sized {
    /// Takes the fields of the type; `None` if one of them is bad, which the form has noted. It takes all fields
    /// before the first `?`, so that a caller learns of all bad fields and the schema has all fields.
    fn from_form(form: &mut Form) -> Option<Self>;
}

/// A body whose fields two types take.
impl<A: FromForm, B: FromForm> FromForm for (A, B) {
    fn from_form(form: &mut Form) -> Option<Self> {
        let first = A::from_form(form);
        let second = B::from_form(form);
        first.zip(second)
    }
}

/// Implements [`FromForm`] for a struct: each field names the method of [`Form`] that takes it, with its
/// arguments. A tuple struct of one field, and a type that is a field itself, need no field name. A
/// struct can be declared together with it.
///
/// An edit `edits` a type with fields of the same names: each field is optional in the body, and the method `apply`
/// leaves those that are missing as they are. An `optional_text` that is null removes the text.
///
/// ```
/// use tributary_functions::{
///     http::from_form,
///     values::{checked_text, length_rule},
/// };
///
/// checked_text!(
///     /// A text: 1 to 100 characters.
///     Text, "The blue room", length_rule(1..=100)
/// );
///
/// struct NewName(Text);
///
/// from_form!(Text: text("text", Text::parse));
/// from_form!(NewName(text("name", Text::parse)));
/// from_form!(
///     struct NewRoom {
///         title: Text = text("title", Text::parse),
///         subtitle: Option<Text> = optional_text("subtitle", Text::parse),
///     }
/// );
/// from_form!(
///     struct RoomEdit edits NewRoom {
///         title: Text = text("title", Text::parse),
///         subtitle: Option<Text> = optional_text("subtitle", Text::parse),
///     }
/// );
///
/// fn edited(room: NewRoom, edit: &RoomEdit) -> NewRoom {
///     edit.apply(room)
/// }
/// ```
#[macro_export]
macro_rules! from_form {
    ($type:ident: $method:ident($($argument:expr),+)) => {
        impl $crate::http::FromForm for $type {
            fn from_form(form: &mut $crate::http::Form) -> Option<Self> {
                form.$method($($argument),+)
            }
        }
    };
    ($type:ident($method:ident($($argument:expr),+))) => {
        impl $crate::http::FromForm for $type {
            fn from_form(form: &mut $crate::http::Form) -> Option<Self> {
                form.$method($($argument),+).map(Self)
            }
        }
    };
    ($(#[$doc:meta])* $visibility:vis struct $type:ident {
        $($(#[$of_doc:meta])* $of_field:vis $field:ident: $of:ty = $method:ident($($argument:expr),+)),+ $(,)?
    }) => {
        $(#[$doc])*
        $visibility struct $type {
            $($(#[$of_doc])* $of_field $field: $of),+
        }

        $crate::from_form!($type { $($field: $method($($argument),+)),+ });
    };
    ($(#[$doc:meta])* $visibility:vis struct $type:ident edits $item:ident {
        $($(#[$of_doc:meta])* $field:ident: $of:ty = $method:ident($name:expr $(, $argument:expr)*)),+ $(,)?
    }) => {
        $(#[$doc])*
        #[allow(clippy::option_option, reason = "a missing field stays, and null removes it")]
        $visibility struct $type {
            $($(#[$of_doc])* $visibility $field: Option<$of>),+
        }

        impl $crate::http::FromForm for $type {
            fn from_form(form: &mut $crate::http::Form) -> Option<Self> {
                $(let $field = form.edited($name, |form| form.$method($name $(, $argument)*));)+
                Some(Self { $($field: $field?),+ })
            }
        }

        impl $type {
            /// Returns the item with the new values. Those that are missing in the body stay.
            $visibility fn apply(&self, mut to: $item) -> $item {
                $(if let Some(value) = &self.$field {
                    to.$field.clone_from(value);
                })+
                to
            }
        }
    };
    ($type:ident { $($field:ident: $method:ident($($argument:expr),+)),+ $(,)? }) => {
        impl $crate::http::FromForm for $type {
            fn from_form(form: &mut $crate::http::Form) -> Option<Self> {
                $(let $field = form.$method($($argument),+);)+
                Some(Self { $($field: $field?),+ })
            }
        }
    };
}

/// Declares envelopes of bodies and answers. `InRecipe<T>` is a `T` as `{"recipe": …}`: in a body, where an error
/// names `recipe.title`, and in an answer and its schema.
///
/// ```
/// use tributary_functions::http::envelopes;
///
/// envelopes!(
///     /// A recipe in its envelope.
///     pub InRecipe { recipe }
/// );
/// ```
#[macro_export]
macro_rules! envelopes {
    ($($(#[$doc:meta])* $visibility:vis $name:ident { $field:ident }),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(::serde::Serialize, ::schemars::JsonSchema)]
        $visibility struct $name<T> {
            /// What the envelope has.
            $visibility $field: T,
        }

        impl<T: $crate::http::FromForm> $crate::http::FromForm for $name<T> {
            fn from_form(form: &mut $crate::http::Form) -> ::std::option::Option<Self> {
                form.object(stringify!($field)).map(|$field| Self { $field })
            }
        }
    )+};
}

pub use crate::{envelopes, from_form, list_filter};

/// The fields of a body, and the errors of those taken so far. Unused ones are ignored; of two, the last counts.
pub struct Form<'a> {
    text: &'a str,
    /// The path of the object in the body: empty, or `addresses[2].`.
    prefix: String,
    errors: Vec<FieldError>,
    max_errors: usize,
    schema: Option<Schema>,
}

#[derive(Debug, Default)]
struct Schema {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

#[expect(clippy::option_option, reason = "a bad field, and an optional one that is missing")]
impl<'a> Form<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let prefix = String::new();
        let errors = Vec::new();
        Self { text, prefix, errors, max_errors: MAX_ERRORS, schema: None }
    }

    /// Returns the JSON schema of the fields that a type takes. Each field has the schema of its type, and
    /// the rule of the type in words.
    ///
    /// Only the parser of a type knows its rule. So the words are those of the parser's error for a value
    /// that every rule refuses.
    pub(super) fn schema_of<T: FromForm>() -> Value {
        let mut form = Form { schema: Some(Schema::default()), ..Form::new("{}") };
        T::from_form(&mut form);
        let Schema { properties, required } = form.schema.unwrap_or_default();
        json!({"type": "object", "properties": properties, "required": required})
    }

    pub(super) fn into_errors(self) -> Vec<FieldError> {
        self.errors
    }

    /// `Some(None)` is an optional field that is missing or null. A form of a schema notes that of the field.
    fn take<T>(
        &mut self,
        field: &str,
        is_required: bool,
        schema: impl FnOnce() -> Value,
        parse: impl FnOnce(&'a str) -> Result<T, Invalid>,
    ) -> Option<Option<T>> {
        if let Some(Schema { properties, required }) = &mut self.schema {
            let mut schema = schema();
            if is_required {
                required.push(field.into());
            } else {
                schema["type"] = json!([schema["type"], "null"]);
            }
            properties.insert(field.to_owned(), schema);
            return None;
        }
        let raw = raw_json::field(self.text, field);
        let parsed = match raw.filter(|raw| is_required || *raw != "null") {
            None if is_required => Err("is missing".into()),
            raw => raw.map(parse).transpose(),
        };
        self.note(field, parsed)
    }

    /// Takes a required text.
    pub fn text<T: JsonSchema>(
        &mut self,
        field: &str,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<T> {
        self.take(field, true, || text_schema(parse), |raw| text(raw, parse))?
    }

    /// Takes a moment that must be there.
    pub fn moment(&mut self, field: &str) -> Option<Timestamp> {
        self.text(field, |text| Timestamp::parse(&text))
    }

    /// Takes an optional text, which may be missing or null.
    pub fn optional_text<T: JsonSchema>(
        &mut self,
        field: &str,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<Option<T>> {
        self.take(field, false, || text_schema(parse), |raw| text(raw, parse))
    }

    /// Takes a required number. `parse` gets its text as it was written.
    pub fn number<T: JsonSchema>(
        &mut self,
        field: &str,
        parse: fn(&str) -> Result<T, Invalid>,
    ) -> Option<T> {
        let is_number = |raw: &str| raw.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let parsed = |raw| if is_number(raw) { parse(raw) } else { Err("must be a number".into()) };
        self.take(field, true, || schema_of::<T>(parse("-1").err()), parsed)?
    }

    /// Takes a required list of texts.
    pub fn texts<T: JsonSchema>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<Vec<T>> {
        self.list_of_texts(field, true, &length, parse)?
    }

    /// Takes an optional list of texts. A missing or null one is empty.
    pub fn optional_texts<T: JsonSchema>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<Vec<T>> {
        self.list_of_texts(field, false, &length, parse).map(Option::unwrap_or_default)
    }

    /// Takes an optional object. A missing or null one is the default. `parse` gets its text as it was written.
    pub fn optional_object<T: JsonSchema + Default>(
        &mut self,
        field: &str,
        parse: fn(&str) -> Result<T, Invalid>,
    ) -> Option<T> {
        let rule = || parse(&format!("{{\"\":\"{}\"}}", "0".repeat(OVERLONG_TEXT_BYTES))).err();
        let parsed = |raw| object(raw).and_then(parse);
        self.take(field, false, || schema_of::<T>(rule()), parsed).map(Option::unwrap_or_default)
    }

    /// Takes a required list of objects, each with a result of its own: a bad one does not spoil the others.
    pub fn each_object<T: FromForm>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
    ) -> Option<Vec<Result<T, Vec<FieldError>>>> {
        let elements = self.list(field, true, &length, Form::schema_of::<T>)??;
        Some(elements.into_iter().map(parse_element).collect())
    }

    /// Takes a required list of objects.
    pub fn objects<T: FromForm>(
        &mut self,
        field: &str,
        length: RangeInclusive<usize>,
    ) -> Option<Vec<T>> {
        let elements = self.list(field, true, &length, Form::schema_of::<T>)??;
        let taken = elements.into_iter().enumerate().map(|(index, raw)| {
            let place = format!("{field}[{index}]");
            let text = self.note(&place, object(raw))?;
            self.fields(&place, text)
        });
        all(taken)
    }

    /// Takes a required object, such as an envelope. The errors name its fields with a dot: `article.title`.
    pub fn object<T: FromForm>(&mut self, field: &str) -> Option<T> {
        let text = self.take(field, true, Form::schema_of::<T>, object)??;
        self.fields(field, text)
    }

    /// Takes a field of an edit by another method; `Some(None)` is one that is missing, which is not null.
    pub fn edited<T>(
        &mut self,
        field: &str,
        take: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.schema.is_none() && raw_json::field(self.text, field).is_none() {
            return Some(None);
        }
        let taken = take(self);
        if let Some(Schema { required, .. }) = &mut self.schema {
            required.retain(|name| name != field);
        }
        taken.map(Some)
    }

    /// Takes the fields of an object at a place in the body.
    fn fields<T: FromForm>(&mut self, place: &str, text: &'a str) -> Option<T> {
        let prefix = format!("{}{place}.", self.prefix);
        let max_errors = self.max_errors - self.errors.len();
        let mut form = Form { prefix, max_errors, ..Form::new(text) };
        let taken = T::from_form(&mut form);
        self.errors.append(&mut form.errors);
        taken
    }

    fn list(
        &mut self,
        field: &str,
        is_required: bool,
        length: &RangeInclusive<usize>,
        items: impl FnOnce() -> Value,
    ) -> Option<Option<Vec<&'a str>>> {
        let (min, max) = (*length.start(), *length.end());
        let schema =
            || json!({"type": "array", "minItems": min, "maxItems": max, "items": items()});
        self.take(field, is_required, schema, |raw| {
            if !raw.starts_with('[') {
                return Err("must be a list".into());
            }
            raw_json::elements(raw, max)
                .filter(|elements| length.contains(&elements.len()))
                .ok_or_else(|| Invalid(format!("must have {min} to {max} elements")))
        })
    }

    fn list_of_texts<T: JsonSchema>(
        &mut self,
        field: &str,
        is_required: bool,
        length: &RangeInclusive<usize>,
        parse: fn(String) -> Result<T, Invalid>,
    ) -> Option<Option<Vec<T>>> {
        let elements = self.list(field, is_required, length, || text_schema(parse))?;
        let Some(elements) = elements else { return Some(None) };
        let taken = elements.into_iter().enumerate();
        let taken =
            taken.map(|(index, raw)| self.note(&format!("{field}[{index}]"), text(raw, parse)));
        all(taken).map(Some)
    }

    fn note<T>(&mut self, field: &str, parsed: Result<T, Invalid>) -> Option<T> {
        parsed
            .map_err(|Invalid(message)| {
                if self.errors.len() < self.max_errors {
                    let field = format!("{}{field}", self.prefix);
                    self.errors.push(FieldError { field, message });
                }
            })
            .ok()
    }
}

/// Returns all values, after each was taken: a bad one hides no error of those behind it.
fn all<T>(taken: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let taken: Vec<_> = taken.collect();
    taken.into_iter().collect()
}

fn parse_element<T: FromForm>(raw: &str) -> Result<T, Vec<FieldError>> {
    let text = object(raw)
        .map_err(|Invalid(message)| vec![FieldError { field: String::new(), message }])?;
    let mut form = Form { max_errors: MAX_ELEMENT_ERRORS, ..Form::new(text) };
    T::from_form(&mut form).ok_or(form.errors)
}

fn text_schema<T: JsonSchema>(parse: fn(String) -> Result<T, Invalid>) -> Value {
    let texts = [String::new(), "\0".repeat(OVERLONG_TEXT_BYTES)];
    schema_of::<T>(texts.into_iter().find_map(|text| parse(text).err()))
}

/// Returns the schema of a type, with its rule in the words of an error: "must be …".
fn schema_of<T: JsonSchema>(rule: Option<Invalid>) -> Value {
    let mut schema = T::json_schema(&mut SchemaGenerator::default());
    if let Some(Invalid(rule)) = rule {
        schema.insert("description".into(), rule.into());
    }
    schema.to_value()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, JsonSchema)]
    #[schemars(with = "f64", example = 1.1)]
    struct Price(String);

    #[expect(clippy::unnecessary_wraps, reason = "as all parsers of checked values")]
    fn price(text: &str) -> Result<Price, Invalid> {
        Ok(Price(text.to_owned()))
    }

    from_form!(
        #[derive(Debug)]
        struct Line {
            name: String = text("name", Ok),
            price: Price = number("price", price),
        }
    );

    fn form(text: &str) -> Form<'_> {
        assert!(raw_json::is_object(text.as_bytes()).unwrap());
        Form::new(text)
    }

    #[test]
    fn a_number_is_taken_as_it_was_written() {
        let text = r#"{"price": 0.1, "lines": [{"name": "a", "price": 1.10}, {"name": "b", "price": 1e2}],
            "price": 0.1000000000000000055}"#;
        let mut form = form(text);
        let price = form.number("price", price);
        assert_eq!(price, Some(Price("0.1000000000000000055".to_owned())));
        let lines: Vec<Line> = form.objects("lines", 1..=2).unwrap();
        let lines: Vec<_> = lines.iter().map(|line| (&*line.name, &*line.price.0)).collect();
        assert_eq!(lines, [("a", "1.10"), ("b", "1e2")]);
        assert_eq!(form.into_errors(), []);
    }

    #[test]
    fn every_bad_field_is_named_with_its_place() {
        let text = r#"{"lines": [{"name": 1}, 5, {"price": "1"}], "tags": ["a", 1], "few": [],
            "many": ["a", "b"], "none": null, "number": "1", "article": {"name": 1}}"#;
        let mut form = form(text);
        assert!(form.objects::<Line>("lines", 0..=9).is_none());
        assert!(form.texts("tags", 0..=9, Ok).is_none());
        assert!(form.texts("few", 1..=9, Ok).is_none());
        assert!(form.texts("many", 0..=1, Ok).is_none());
        assert!(form.texts("absent", 0..=1, Ok).is_none());
        assert!(form.number("number", |_| Ok(())).is_none());
        assert!(form.object::<Line>("article").is_none());
        assert!(form.object::<Line>("few").is_none());
        let mut edited = |field| form.edited(field, |form| form.optional_text(field, Ok));
        assert_eq!(["none", "absent"].map(&mut edited), [Some(Some(None)), Some(None)]);
        assert_eq!(form.optional_text("none", Ok), Some(None));
        assert_eq!(form.optional_text("absent", Ok), Some(None));
        let errors = form.into_errors();
        let errors: Vec<_> =
            errors.iter().map(|error| format!("{} {}", error.field, error.message)).collect();
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
                "absent is missing",
                "number must be a number",
                "article.name must be a string",
                "article.price is missing",
                "few must be an object",
            ]
        );
    }
}
