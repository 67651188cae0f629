//! The rules of the spec for every answer.

use serde_json::Value;

pub(crate) use tributary_testing::{
    answers::{charged, created, free_of_charge, is_etag, is_timestamp, members},
    problems::{bad_fields, parse_problem, problem},
};

/// A UUIDv7 in the usual form.
#[track_caller]
pub(crate) fn is_uuid_v7(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("not a text: {value}"));
    let uuid = uuid::Uuid::parse_str(text).unwrap_or_else(|_| panic!("not a UUID: {text}"));
    assert_eq!((uuid.get_version_num(), uuid.to_string().as_str()), (7, text));
}
