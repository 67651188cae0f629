//! Holding a copy of a post against the post.

use serde_json::Value;

use super::finding::Kind;
use crate::blog::model::PostCopy;

/// What is wrong with a copy, and what was expected and found.
pub(super) fn compare(expected: &PostCopy, found: &PostCopy) -> Option<(Kind, (String, String))> {
    let kind = match found.version.cmp(&expected.version) {
        std::cmp::Ordering::Less => Kind::CopyOlder,
        std::cmp::Ordering::Greater => Kind::CopyNewer,
        std::cmp::Ordering::Equal if found == expected => return None,
        std::cmp::Ordering::Equal => Kind::CopyDifferent,
    };
    let words = match kind {
        Kind::CopyDifferent => format!("another {}", differing_fields(expected, found)),
        _ => version(found.version),
    };
    Some((kind, (version(expected.version), words)))
}

/// A version in words.
pub(super) fn version(version: u64) -> String {
    format!("version {version}")
}

fn differing_fields(expected: &PostCopy, found: &PostCopy) -> String {
    let fields = |copy| match serde_json::to_value(copy) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::default(),
    };
    let (expected, found) = (fields(expected), fields(found));
    let differing = expected.iter().filter(|(name, value)| found.get(*name) != Some(value));
    differing.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}
