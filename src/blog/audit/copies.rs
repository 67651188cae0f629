//! Comparing a copy of a post with the post, its texts included.

use std::cmp::Ordering;

use serde_json::Value;

use crate::{audit::Kind, blog::model::PostCopy};

/// Returns what is wrong with a copy, and what was expected and found.
///
/// `stored` is the copy as it is stored: a date in another form than ours is another text, though it
/// reads as the same time, and lists are in the order of the text.
pub(super) fn compare(
    expected: &PostCopy,
    found: &PostCopy,
    stored: &Value,
) -> Option<(Kind, (String, String))> {
    let (kind, words) = match found.version.cmp(&expected.version) {
        Ordering::Less => (Kind::COPY_OLDER, version(found.version)),
        Ordering::Greater => (Kind::COPY_NEWER, version(found.version)),
        Ordering::Equal => match differing_fields(expected, stored).as_slice() {
            [] => return None,
            fields => (Kind::COPY_DIFFERENT, format!("another {}", fields.join(", "))),
        },
    };
    Some((kind, (version(expected.version), words)))
}

/// A version in words.
pub(super) fn version(version: u64) -> String {
    format!("version {version}")
}

fn differing_fields(expected: &PostCopy, stored: &Value) -> Vec<String> {
    let Ok(Value::Object(expected)) = serde_json::to_value(expected) else {
        return Vec::new();
    };
    let differing = expected.into_iter().filter(|(name, value)| stored.get(name) != Some(value));
    differing.map(|(name, _)| name).collect()
}
