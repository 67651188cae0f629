//! What the spec says of every answer.

use serde_json::Value;

use tributary_testing::problems;
pub(crate) use tributary_testing::problems::bad_fields;

use crate::world::{Answer, World};

/// The problem document of this app in an answer that must have this status.
#[track_caller]
pub(crate) fn problem(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status.as_u16(), status, "{}", answer.text);
    is_problem(answer).unwrap_or_else(|why| panic!("{why}: {}", answer.text))
}

/// Whether an answer is a problem document of this app, and if not, why.
pub(crate) fn is_problem(answer: &Answer) -> Result<Value, String> {
    let problem = problems::is_problem(answer)?;
    let is_ours = problem["type"].as_str().is_some_and(|it| it.starts_with("urn:tributary:"));
    if is_ours { Ok(problem) } else { Err("`type` is not of this app".into()) }
}

/// The answer used the store and says what it cost.
#[track_caller]
pub(crate) fn charged(answer: &Answer) {
    let charge: f64 = answer
        .header("x-ms-request-charge")
        .parse()
        .unwrap_or_else(|_| panic!("no charge: {answer:?}"));
    // The emulator charges nothing for a refusal.
    assert!(charge > 0.0 || !answer.status.is_success() && charge >= 0.0, "{answer:?}");
}

/// The answer did not use the store.
#[track_caller]
pub(crate) fn free_of_charge(answer: &Answer) {
    assert_eq!(answer.header("x-ms-request-charge"), "", "{answer:?}");
}

/// A 201 whose `Location` is this, and leads to the same item with the same ETag.
pub(crate) async fn created(world: &World, answer: &Answer, location: &str) -> Value {
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(answer.header("location"), location);
    let there = world.get(location).await.expect(200);
    assert_eq!(there.json(), answer.json());
    assert_eq!(there.header("etag"), answer.header("etag"));
    is_etag(answer.header("etag"));
    assert_eq!(answer.header("content-type"), "application/json");
    charged(answer);
    answer.json()
}

/// An entity tag in quotes (RFC 9110, section 8.8.3).
#[track_caller]
pub(crate) fn is_etag(text: &str) {
    let opaque = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    assert!(opaque.is_some_and(|tag| !tag.is_empty() && !tag.contains('"')), "{text}");
}

/// RFC 3339, UTC, exactly three fraction digits.
#[track_caller]
pub(crate) fn is_timestamp(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("not a text: {value}"));
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{text}");
}

/// A UUIDv7 in the usual form.
#[track_caller]
pub(crate) fn is_uuid_v7(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("not a text: {value}"));
    let uuid = uuid::Uuid::parse_str(text).unwrap_or_else(|_| panic!("not a UUID: {text}"));
    assert_eq!((uuid.get_version_num(), uuid.to_string().as_str()), (7, text));
}

/// The names of an object's members, in alphabetical order.
pub(crate) fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
