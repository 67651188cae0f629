//! Problem documents (RFC 9457): the form of every refusal of the app, and the words that none may have.

use serde_json::Value;
use tributary_local::cosmos::WELL_KNOWN_KEY;

use crate::{Answer, AppUnderTest};

/// Words that no problem document may have: keys, traces, and the words of the SDK.
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

/// Returns the problem document of an answer, and panics if the answer has another status or no such
/// document.
#[track_caller]
pub fn problem(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status.as_u16(), status, "{}", answer.text);
    parse_problem(answer).unwrap_or_else(|why| panic!("{why}: {}", answer.text))
}

/// Returns the problem document of an answer; an error names the part that is missing or wrong.
pub fn parse_problem(answer: &Answer) -> Result<Value, String> {
    if answer.header("content-type") != "application/problem+json" {
        return Err(format!("content type {:?}", answer.header("content-type")));
    }
    let problem: Value = serde_json::from_str(&answer.text).map_err(|error| error.to_string())?;
    let has = |value: &Value, member: &str| value[member].as_str().is_some_and(|it| !it.is_empty());
    let names = problem["type"].as_str().and_then(|kind| kind.strip_prefix("urn:"));
    let slug = names.and_then(|names| names.split_once(":problem:")).map_or("", |(_, slug)| slug);
    if slug.is_empty() || !slug.bytes().all(|c| c.is_ascii_lowercase() || c == b'-') {
        return Err("`type` is not `urn:<name of the app>:problem:<slug>`".into());
    }
    if let Some(member) = ["title", "detail"].iter().find(|member| !has(&problem, member)) {
        return Err(format!("no `{member}`"));
    }
    if problem["status"] != answer.status.as_u16() {
        return Err("`status` is not the status".into());
    }
    if let Some(errors) = problem.get("errors") {
        let errors = errors.as_array().ok_or("`errors` is not an array")?;
        if !errors.iter().all(|error| has(error, "field") && has(error, "message")) {
            return Err("an error without `field` or `message`".into());
        }
    }
    has_no_secret(answer).map(|()| problem)
}

fn has_no_secret(answer: &Answer) -> Result<(), String> {
    let text = answer.text.to_lowercase();
    match SECRETS.iter().find(|secret| text.contains(&secret.to_lowercase())) {
        Some(secret) => Err(format!("it has `{secret}` in it")),
        None => Ok(()),
    }
}

/// Checks a refusal in the app's form. `of` names the function or the request. Returns the fields that the
/// refusal names, in alphabetical order.
#[track_caller]
pub(crate) fn refusal<A: AppUnderTest>(
    of: &str,
    answer: &Answer,
    (status, slug): (u16, &str),
) -> Vec<String> {
    let expected = A::status_of(slug, status);
    assert_eq!(answer.status, expected, "{of} does not refuse as `{slug}`: {}", answer.text);
    let read = has_no_secret(answer).and_then(|()| A::read_refusal(answer, slug));
    let mut fields = read.unwrap_or_else(|why| {
        panic!(
            "{of} refuses in another form: {why}. Write the form of the program's `errors` into \
             `AppUnderTest::read_refusal`: {}",
            answer.text
        )
    });
    fields.sort_unstable();
    fields
}

/// Returns the fields that a 400 names, in alphabetical order.
#[track_caller]
pub fn bad_fields(answer: &Answer) -> Vec<String> {
    let problem = problem(answer, 400);
    assert!(problem["errors"].is_array(), "no errors: {problem}");
    let mut fields = fields_of(&problem);
    fields.sort_unstable();
    fields
}

pub(crate) fn fields_of(problem: &Value) -> Vec<String> {
    let errors = problem["errors"].as_array().into_iter().flatten();
    errors.filter_map(|error| error["field"].as_str()).map(str::to_owned).collect()
}
