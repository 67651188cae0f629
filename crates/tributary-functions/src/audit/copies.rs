//! The audit of copies, from their definition: each copy of a source, or its tombstone, is as defined, and each
//! copy has a source that defines it. A repair writes the copy under the ETag that was read before the source, or
//! deletes it under the ETag that was checked: without a tombstone, as the source's own has outlasted every
//! delivery.

use serde_json::Value;

use super::{
    AuditedItem, CheckResults, Checks, FindingKind, Obstacle, RepairResult, Slot, Suspect, Target,
    async_trait, compare, read_slot, version_text,
};
use crate::{
    cosmos::{Container, ETag, Stored},
    projection::{
        ChangeFeedItem,
        copies::{AuditedCopies, Copies, CopyProjection},
    },
};

/// The checks of copies and their repairs, for an audit that has others, too.
pub struct CopiesChecks<C>(pub(super) CopyProjection<C>);

impl<C: Copies> CopiesChecks<C> {
    /// Creates the checks of the copies that are made from one container to another.
    pub fn new(sources: &Container, copies: &Container) -> Self {
        Self(CopyProjection::new(sources, copies))
    }

    /// Returns the suspects of the copies of a source.
    pub async fn check_source(&self, audited: &AuditedItem) -> CheckResults {
        let change: C::Change = match audited.parse() {
            Ok(change) => change,
            Err(unreadable) => return Ok(unreadable),
        };
        let mut suspects = Vec::new();
        for copy in C::copies_of(&change) {
            let Ok(expected) = serde_json::to_value(&copy.item) else { continue };
            let found: Option<Stored<Value>> =
                self.0.copies.read(&copy.partition, &copy.id).await?;
            let (kind, words, etag) = match found {
                Some(Stored { item, etag }) => {
                    let version = item["version"].as_u64().unwrap_or_default();
                    match compare((copy.version, &expected), (version, &item)) {
                        Some((kind, words)) => (kind, words, etag.to_string()),
                        None => continue,
                    }
                }
                // The tombstone of a copy may have expired.
                None if is_tombstone(&expected) => continue,
                None => {
                    let words = (version_text(copy.version), "none".to_owned());
                    (FindingKind::COPY_MISSING, words, String::new())
                }
            };
            let location = (self.0.copies.id(), copy.partition, copy.id);
            let evidence = format!("{} {etag}", audited.etag);
            suspects.push(audited.suspect_at(kind, location, words, evidence));
        }
        Ok(suspects)
    }

    /// Writes a suspect copy of a source. The copy is read first, so the new one is never older.
    pub async fn write(&self, suspect: &Suspect) -> RepairResult {
        let Target::Item { partition_key, id: source_id, .. } = &suspect.target else {
            return Err(Obstacle::Race);
        };
        let (partition, id) = (suspect.finding.partition_key.as_str(), suspect.finding.id.as_str());
        let etag = match read_slot::<Value>(&self.0.copies, partition, id).await? {
            Slot::Empty => None,
            Slot::Unreadable(etag) | Slot::Item(Stored { etag, .. }) => Some(etag),
        };
        let sources = self.0.sources.latest_committed();
        let Slot::Item(source) = read_slot::<C::Change>(&sources, partition_key, source_id).await?
        else {
            return Err(Obstacle::Race);
        };
        let mut copies = C::copies_of(&source.item).into_iter();
        let copy =
            copies.find(|copy| (copy.partition.as_str(), copy.id.as_str()) == (partition, id));
        let copy = copy.ok_or(Obstacle::Race)?;
        self.0.copies.put(partition, id, &copy.item, etag.as_ref()).await?;
        Ok("wrote the copy")
    }
}

impl<C: AuditedCopies> CopiesChecks<C> {
    /// Returns the suspicion that a copy has no source.
    pub async fn check_copy(&self, audited: &AuditedItem) -> CheckResults {
        let copy: C::Copy = match audited.parse() {
            Ok(copy) => copy,
            Err(unreadable) => return Ok(unreadable),
        };
        let source =
            C::source(&copy).filter(|_| !is_tombstone(&audited.stored.parse().unwrap_or_default()));
        let Some((partition, id)) = source else { return Ok(Vec::new()) };
        // A replica may lack the source, and the copy would be deleted.
        let sources = self.0.sources.latest_committed();
        let is_defined = match read_slot(&sources, &partition, &id).await? {
            Slot::Empty => false,
            // The source is a suspect itself.
            Slot::Unreadable(_) => true,
            Slot::Item(Stored { item, .. }) => C::copies_of(&item)
                .iter()
                .any(|copy| (&copy.partition, &copy.id) == (&audited.partition_key, &audited.id)),
        };
        let extra = || audited.suspect(FindingKind::COPY_EXTRA, ("none", "a copy"), &audited.etag);
        Ok((!is_defined).then(extra).into_iter().collect())
    }
}

fn is_tombstone(stored: &Value) -> bool {
    stored.get("ttl").is_some()
}

#[async_trait]
impl<C: AuditedCopies> Checks for CopiesChecks<C> {
    fn containers(&self) -> Vec<(&Container, &'static str)> {
        vec![(&self.0.sources, C::Change::PARTITION_KEY), (&self.0.copies, C::PARTITION_KEY)]
    }

    async fn check_item(&self, audited: &AuditedItem, _fresh: bool) -> CheckResults {
        if audited.container == self.0.sources.id() {
            self.check_source(audited).await
        } else {
            self.check_copy(audited).await
        }
    }

    async fn repair(&self, suspect: &Suspect) -> RepairResult {
        let finding = &suspect.finding;
        match finding.kind {
            FindingKind::COPY_EXTRA => {
                let seen = ETag::from(suspect.evidence.clone());
                self.0.copies.delete(&finding.partition_key, &finding.id, &seen).await?;
                Ok("deleted the copy")
            }
            kind if kind.concerns_copy() => self.write(suspect).await,
            _ => {
                Err(Obstacle::NeedsOperator("it cannot be read: delete it, and replay its source"))
            }
        }
    }
}
