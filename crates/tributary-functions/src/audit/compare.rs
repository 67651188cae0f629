//! The comparison of a copy with its source, its texts included.

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::Value;

use super::{AuditedItem, CheckResult, FindingKind};
use crate::cosmos::{ReadResult, StoreError};

/// Compares a copy as it is stored: a date in another form than ours is another text.
pub(crate) fn compare(
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
    let Ok(Value::Object(expected)) = serde_json::to_value(expected) else { return Vec::new() };
    let differing = expected.into_iter().filter(|(name, value)| stored.get(name) != Some(value));
    differing.map(|(name, _)| name).collect()
}

/// The most counts of the children of one parent. A write to a busy parent makes a count useless.
const MAX_COUNTS: usize = 5;

impl AuditedItem {
    /// Compares the counts in this item, a parent (`stated`, with their `words`), with the number of its children.
    /// Every transaction that creates or deletes a child replaces the parent. So if it is the same before and after
    /// the count (`read`), no child was created or deleted meanwhile.
    pub async fn check_counts<P, C, R, const N: usize>(
        &self,
        mut parent: P,
        stated: impl Fn(&P) -> [u64; N],
        count: impl Fn(P) -> C,
        read: impl Fn() -> R,
        words: impl Fn([u64; N]) -> String,
    ) -> CheckResult
    where
        C: Future<Output = Result<[u64; N], StoreError>>,
        R: Future<Output = ReadResult<P>>,
    {
        let mut etag = self.etag.clone();
        for _ in 0..MAX_COUNTS {
            let stated = stated(&parent);
            let counted = count(parent).await?;
            if stated == counted {
                return Ok(None);
            }
            let Some(now) = read().await? else { return Ok(None) };
            if now.etag.as_ref() == etag {
                // The difference stays the same when children are created meanwhile.
                let off = |(stated, counted): (u64, u64)| i128::from(stated) - i128::from(counted);
                let evidence: Vec<i128> = stated.into_iter().zip(counted).map(off).collect();
                let words = (words(counted), words(stated));
                return Ok(Some(self.suspect(
                    FindingKind::COUNT_DIFFERS,
                    words,
                    format!("{evidence:?}"),
                )));
            }
            (parent, etag) = (now.item, now.etag.to_string());
        }
        let words = ("counts at rest", "counts that change");
        Ok(Some(self.suspect(FindingKind::COUNT_DIFFERS, words, etag)))
    }
}
