//! The checks of the copies of a generation, from their definition.

use std::marker::PhantomData;

use serde_json::Value;
use tributary_functions::{
    audit::{
        AuditedItem, Checks, FindingKind, Obstacle, RepairResult, Slot, Suspect, compare,
        read_slot, version_text,
    },
    cosmos::{Container, ETag, StoreError, Stored},
    projection::copies::Copies,
};

use super::model::{HeadingsOfOwners, Note, NotesOfOwners};

/// The copies of notes in a container.
pub(super) trait CopiesOfNotes: Copies<Change = Note> {
    /// The partition key of the copies.
    const KEY: &'static str;
}

impl CopiesOfNotes for NotesOfOwners {
    const KEY: &'static str = "ownerId";
}

impl CopiesOfNotes for HeadingsOfOwners {
    const KEY: &'static str = "owner";
}

pub(super) struct CopyChecks<C> {
    notes: Container,
    copies: Container,
    definition: PhantomData<fn() -> C>,
}

impl<C: CopiesOfNotes> CopyChecks<C> {
    pub(super) fn new(notes: &Container, copies: &Container) -> Self {
        Self { notes: notes.clone(), copies: copies.clone(), definition: PhantomData }
    }
}

impl<C: CopiesOfNotes> Checks for CopyChecks<C> {
    fn containers(&self) -> Vec<(&Container, &'static str)> {
        vec![(&self.notes, "noteId"), (&self.copies, C::KEY)]
    }

    async fn check_item(&self, item: &AuditedItem, _: bool) -> Result<Vec<Suspect>, StoreError> {
        if item.container == self.copies.id() {
            let source: Option<Stored<Note>> = self.notes.read(&item.id, &item.id).await?;
            let extra = || item.suspect(FindingKind::COPY_EXTRA, ("none", "a copy"), &item.etag);
            return Ok(source.is_none().then(extra).into_iter().collect());
        }
        let note: Note = match item.parse() {
            Ok(note) => note,
            Err(unreadable) => return Ok(unreadable),
        };
        let mut suspects = Vec::new();
        for copy in C::copies_of(&note) {
            let slot = read_slot::<Value>(&self.copies, &copy.partition, &copy.id).await?;
            let location = (self.copies.id(), copy.partition.clone(), copy.id.clone());
            match slot {
                Slot::Item(Stored { item: found, etag }) => {
                    let version = found["version"].as_u64().unwrap_or_default();
                    let found = compare((copy.version, &copy.item), (version, &found));
                    if let Some((kind, words)) = found {
                        suspects.push(item.suspect_at(kind, location, words, etag.to_string()));
                    }
                }
                _ if note.is_live() => {
                    let words = (version_text(copy.version), "none");
                    suspects.push(item.suspect_at(FindingKind::COPY_MISSING, location, words, ""));
                }
                _ => {}
            }
        }
        Ok(suspects)
    }

    async fn repair(&self, suspect: &Suspect) -> RepairResult {
        let finding = &suspect.finding;
        if finding.kind == FindingKind::COPY_EXTRA {
            let seen = ETag::from(suspect.evidence.clone());
            self.copies.delete(&finding.partition_key, &finding.id, &seen).await?;
            return Ok("deleted the copy");
        }
        let notes = self.notes.latest_committed();
        let note = notes.read::<Note>(&finding.id, &finding.id).await?.ok_or(Obstacle::Race)?;
        for copy in C::copies_of(&note.item) {
            let slot = read_slot::<Value>(&self.copies, &copy.partition, &copy.id).await?;
            let etag = if let Slot::Item(stored) = slot { Some(stored.etag) } else { None };
            self.copies.put(&copy.partition, &copy.id, &copy.item, etag.as_ref()).await?;
        }
        Ok("wrote the copy")
    }
}
