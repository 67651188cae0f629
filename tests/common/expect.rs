//! The rules of the spec for every answer.

use insta::internals::Redaction;
use serde_json::Value;

pub(crate) use tributary_testing::{
    answers::{charged, created, free_of_charge, is_etag, is_timestamp, members},
    problems::{bad_fields, parse_problem, problem},
};

/// Redacts a date in a snapshot. It must be a timestamp of the API.
pub(crate) fn date() -> Redaction {
    insta::dynamic_redaction(|value, _path| {
        is_timestamp(&value.as_str().into());
        "[date]"
    })
}

/// Redacts an id of the server in a snapshot. It must be a UUIDv7.
pub(crate) fn new_id() -> Redaction {
    insta::dynamic_redaction(|value, _path| {
        is_uuid_v7(&value.as_str().into());
        "[new id]"
    })
}

/// A UUIDv7 in the usual form.
#[track_caller]
pub(crate) fn is_uuid_v7(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("not a text: {value}"));
    let uuid = uuid::Uuid::parse_str(text).unwrap_or_else(|_| panic!("not a UUID: {text}"));
    assert_eq!((uuid.get_version_num(), uuid.to_string().as_str()), (7, text));
}
