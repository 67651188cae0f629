//! What the spec says of every answer.

use serde_json::Value;
use tributary_local::cosmos::WELL_KNOWN_KEY;

use crate::world::{Answer, World};

/// What no problem document may tell: keys, traces, and the words of the SDK.
const SECRETS: [&str; 11] = [
    WELL_KNOWN_KEY,
    "AccountKey",
    "azure",
    "cosmos",
    "backtrace",
    "panicked",
    ".rs:",
    "StoreError",
    "Substatus",
    "activityId",
    "serde",
];

/// The problem document (RFC 9457) of an answer that must have this status.
#[track_caller]
pub(crate) fn problem(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status.as_u16(), status, "{}", answer.text);
    is_problem(answer).unwrap_or_else(|why| panic!("{why}: {}", answer.text))
}

/// Whether an answer is a problem document in all its parts, and if not, why.
pub(crate) fn is_problem(answer: &Answer) -> Result<Value, String> {
    if answer.header("content-type") != "application/problem+json" {
        return Err(format!("content type {:?}", answer.header("content-type")));
    }
    let problem: Value = serde_json::from_str(&answer.text).map_err(|error| error.to_string())?;
    let slug = problem["type"].as_str().and_then(|t| t.strip_prefix("urn:tributary:problem:"));
    let is_slug =
        |slug: &str| !slug.is_empty() && slug.bytes().all(|c| c.is_ascii_lowercase() || c == b'-');
    if !slug.is_some_and(is_slug) {
        return Err("`type` is not `urn:tributary:problem:<slug>`".into());
    }
    for member in ["title", "detail"] {
        if problem[member].as_str().is_none_or(str::is_empty) {
            return Err(format!("no `{member}`"));
        }
    }
    if problem["status"] != answer.status.as_u16() {
        return Err("`status` is not the status".into());
    }
    if let Some(errors) = problem.get("errors") {
        let errors = errors.as_array().ok_or("`errors` is not an array")?;
        for error in errors {
            for member in ["field", "message"] {
                if error[member].as_str().is_none_or(str::is_empty) {
                    return Err(format!("an error without `{member}`"));
                }
            }
        }
    }
    let text = answer.text.to_lowercase();
    match SECRETS.iter().find(|secret| text.contains(&secret.to_lowercase())) {
        Some(secret) => Err(format!("it tells `{secret}`")),
        None => Ok(problem),
    }
}

/// The fields that a 400 complains of, in alphabetical order.
#[track_caller]
pub(crate) fn bad_fields(answer: &Answer) -> Vec<String> {
    let problem = problem(answer, 400);
    let errors = problem["errors"].as_array().unwrap_or_else(|| panic!("no errors: {problem}"));
    let mut fields: Vec<String> =
        errors.iter().map(|error| error["field"].as_str().unwrap().to_owned()).collect();
    fields.sort_unstable();
    fields
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
