//! The number of notes of an owner: a copy that the change feed updates.

use tributary_functions::prelude::*;

use super::NotesItem;

impl ChangeFeedItem for NotesItem {
    const PARTITION_KEY: &'static str = "ownerId";

    fn origin(&self) -> Option<Origin> {
        let (owner, id, version) = match self {
            Self::Note(note) => (&note.owner_id, &note.id, note.version),
            Self::DeletedNote(note) => (&note.owner_id, &note.id, note.version),
        };
        Some(Origin::new(owner, id, version))
    }
}

/// The numbers of notes, by owner.
pub struct NoteCounts;

impl Aggregate for NoteCounts {
    const FUNCTION: &'static str = "NoteCounts";
    type Change = NotesItem;

    fn contribution(change: &NotesItem) -> Option<Contribution> {
        match change {
            NotesItem::Note(note) => Some(Contribution::new(note.owner_id.as_str(), 1)),
            NotesItem::DeletedNote(_) => None,
        }
    }
}
