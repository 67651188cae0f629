//! The comparison of a copy with its source, its texts included.

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::Value;

use super::FindingKind;

/// Returns the kind of a copy's divergence, with the expected and the found state in words.
///
/// `stored` is the copy as it is stored: a date in another form than ours is another text, though it
/// reads as the same time, and lists are in the order of the text.
pub fn compare(
    (expected_version, expected): (u64, &impl Serialize),
    (found_version, stored): (u64, &Value),
) -> Option<(FindingKind, (String, String))> {
    let (kind, words) = match found_version.cmp(&expected_version) {
        Ordering::Less => (FindingKind::COPY_OLDER, version_text(found_version)),
        Ordering::Greater => (FindingKind::COPY_NEWER, version_text(found_version)),
        Ordering::Equal => match differing_fields(expected, stored).as_slice() {
            [] => return None,
            fields => (FindingKind::COPY_DIFFERENT, format!("another {}", fields.join(", "))),
        },
    };
    Some((kind, (version_text(expected_version), words)))
}

/// Returns a version in words.
pub fn version_text(version: u64) -> String {
    format!("version {version}")
}

fn differing_fields(expected: &impl Serialize, stored: &Value) -> Vec<String> {
    let Ok(Value::Object(expected)) = serde_json::to_value(expected) else {
        return Vec::new();
    };
    let differing = expected.into_iter().filter(|(name, value)| stored.get(name) != Some(value));
    differing.map(|(name, _)| name).collect()
}
