//! The parts of every answer of an app: its charge, its ETag, its timestamps.

use serde_json::Value;

use crate::{Answer, AppUnderTest, World};

/// Checks that the answer used the store and has its charge.
#[track_caller]
pub fn charged(answer: &Answer) {
    let charge: f64 = answer
        .header("x-ms-request-charge")
        .parse()
        .unwrap_or_else(|_| panic!("no charge: {answer:?}"));
    // The local endpoint charges nothing for some refusals.
    assert!(charge > 0.0 || !answer.status.is_success() && charge >= 0.0, "{answer:?}");
}

/// Checks that the answer did not use the store.
#[track_caller]
pub fn free_of_charge(answer: &Answer) {
    assert_eq!(answer.header("x-ms-request-charge"), "", "{answer:?}");
}

/// Checks that the answer is a 201 with this `Location`, which leads to the same item with the same ETag.
/// Returns the item.
pub async fn created<A: AppUnderTest>(world: &World<A>, answer: &Answer, location: &str) -> Value {
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(answer.header("location"), location);
    let found = world.get(location).await.expect(200);
    assert_eq!(found.json(), answer.json());
    assert_eq!(found.header("etag"), answer.header("etag"));
    is_etag(answer.header("etag"));
    assert_eq!(answer.header("content-type"), "application/json");
    charged(answer);
    answer.json()
}

/// Checks that a text is an entity tag in quotes (RFC 9110, section 8.8.3).
#[track_caller]
pub fn is_etag(text: &str) {
    let opaque = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    assert!(opaque.is_some_and(|tag| !tag.is_empty() && !tag.contains('"')), "{text}");
}

/// Checks that a value is a timestamp: RFC 3339, UTC, exactly three fraction digits.
#[track_caller]
pub fn is_timestamp(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("not a text: {value}"));
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{text}");
}

/// Returns the names of an object's members, in alphabetical order.
pub fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
