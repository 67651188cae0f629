//! The field of a document that cannot be read: its name, and never its value.
//!
//! The parser's own message may quote values, and does not name the field of a bad value. So each field is
//! left out in turn: without the bad field, the parser no longer stops at it.

use custom_handler::Document;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::cosmos::parse_item;

/// The most fields of a document that are left out in turn. No item of the app has more.
const MAX_TESTED_FIELDS: usize = 100;

const TYPE_FIELD: &str = "type";

pub(super) fn defect<T: DeserializeOwned>(
    document: &Document,
    error: &serde_json::Error,
) -> String {
    let line = error.line();
    let column = error.column();
    let Ok(fields) = document.parse::<Map<String, Value>>() else {
        return format!("it is no JSON object (line {line}, column {column})");
    };
    let original = message::<T>(&fields);
    if let Some(field) = original.as_deref().and_then(missing_field) {
        return format!("{} has no `{field}`", kind::<T>(&fields));
    }
    let without = |names: &[&String]| {
        let mut others = fields.clone();
        others.retain(|name, _| !names.contains(&name));
        message::<T>(&others)
    };
    // No document can be read without its type, so the type is bad only if no other field is.
    let candidates =
        fields.keys().filter(|field| *field != TYPE_FIELD && fields.len() <= MAX_TESTED_FIELDS);
    let mut bad: Vec<&String> = candidates.filter(|field| without(&[field]) != original).collect();
    // Without another required field, the parser stops earlier. Without a bad optional field, it does not
    // stop. Without a bad required field, it stops where it misses that field, the last of them.
    if bad.iter().any(|field| without(&[field]).is_none()) {
        bad.retain(|field| without(&[field]).is_none());
    }
    while bad.len() > 1
        && let Some(message) = without(&bad)
        && let Some(first) = missing_field(&message)
        && let Some(other) = bad.iter().position(|field| *field == first)
    {
        bad.remove(other);
    }
    match bad.as_slice() {
        [] if original.is_some_and(|message| message.starts_with("unknown variant")) => {
            format!("its `{TYPE_FIELD}` is none of this container")
        }
        [] => format!("it cannot be read (line {line}, column {column})"),
        bad => {
            let names: Vec<String> = bad.iter().map(|field| format!("`{field}`")).collect();
            format!("{} has a wrong value in {}", kind::<T>(&fields), names.join(" or "))
        }
    }
}

/// A type that the parser has accepted is one of the app, so it has no personal content.
fn kind<T: DeserializeOwned>(fields: &Map<String, Value>) -> String {
    let is_refused = |fields: &Map<String, Value>| {
        message::<T>(fields).is_some_and(|message| message.starts_with("unknown variant"))
    };
    let mut unknown = fields.clone();
    unknown.insert(TYPE_FIELD.into(), "".into());
    let stops = is_refused(&unknown) && !is_refused(fields);
    match fields.get(TYPE_FIELD).and_then(Value::as_str).filter(|_| stops) {
        Some(kind) => format!("a `{kind}`"),
        None => "it".into(),
    }
}

fn message<T: DeserializeOwned>(fields: &Map<String, Value>) -> Option<String> {
    let text = serde_json::to_string(fields).ok()?;
    let mut message = parse_item::<T>(text.as_bytes()).err()?.to_string();
    // Line and column change with each field.
    message.truncate(message.rfind(" at line ").unwrap_or(message.len()));
    Some(message)
}

fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
}

#[cfg(test)]
#[expect(dead_code, reason = "items are read and never used")]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "camelCase")]
    enum Item {
        Room(Room),
        Seat { id: String },
    }

    #[derive(Deserialize)]
    struct Room {
        id: String,
        version: u64,
        #[serde(flatten)]
        public: Public,
    }

    #[derive(Deserialize)]
    struct Public {
        title: String,
        seats: Option<u64>,
    }

    /// Its kind is told by another field.
    #[derive(Deserialize)]
    #[serde(tag = "state", rename_all = "camelCase")]
    enum Label<T> {
        Live { r#type: T, name: String },
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Kind {
        Tag,
    }

    fn defect_in<T: DeserializeOwned>(document: &Value) -> String {
        let text = document.to_string();
        let error = parse_item::<T>(text.as_bytes()).err().unwrap();
        defect::<T>(&Document::from_json(text.as_str()).unwrap(), &error)
    }

    #[test]
    fn an_error_never_shows_a_type_that_the_parser_refuses_or_does_not_check() {
        let label = json!({"type": "secret", "state": "live", "name": "N"});
        assert!(!defect_in::<Label<Kind>>(&label).contains("secret"));
        let label = json!({"type": "secret", "name": "N"});
        assert_eq!(defect_in::<Label<String>>(&label), "it has no `state`");
        let label = json!({"type": "secret", "state": "live"});
        assert_eq!(defect_in::<Label<String>>(&label), "it has no `name`");
    }

    #[test]
    fn an_error_names_the_field_and_never_its_value() {
        let good = json!({"type": "room", "id": "p1", "version": 1, "title": "T", "seats": 2});
        let defect = |field: &str, value: Option<Value>| {
            let mut document = good.as_object().unwrap().clone();
            document.remove(field);
            document.extend(value.map(|value| (field.to_owned(), value)));
            defect_in::<Item>(&document.into())
        };
        for (field, value, expected) in [
            ("version", None, "a `room` has no `version`"),
            ("title", None, "a `room` has no `title`"),
            ("type", None, "it has no `type`"),
            ("version", Some(json!("secret")), "a `room` has a wrong value in `version`"),
            ("version", Some(json!(1_u64 << 53)), "a `room` has a wrong value in `version`"),
            ("seats", Some(json!("secret")), "a `room` has a wrong value in `seats`"),
            ("title", Some(json!(["secret"])), "a `room` has a wrong value in `title`"),
            ("type", Some(json!("secret")), "its `type` is none of this container"),
        ] {
            assert_eq!(defect(field, value), expected);
        }
        assert!(defect_in::<Item>(&json!(["secret"])).starts_with("it is no JSON object"));
    }
}
