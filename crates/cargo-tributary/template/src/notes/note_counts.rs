//! The number of notes of an owner: a copy that the change feed updates.

use std::sync::Arc;

use tributary_functions::{
    cosmos::{Container, Cosmos},
    projection::{
        Origin,
        aggregate::{Aggregate, Contribution},
    },
};

use super::NotesItem;

/// The numbers of notes, by owner.
#[derive(Clone)]
pub struct NoteCounts {
    notes: Container,
    /// The totals.
    pub totals: Container,
}

impl NoteCounts {
    /// Returns the numbers of notes in a database.
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        Self { notes: cosmos.container("notes"), totals: cosmos.container("note-counts") }
    }
}

impl Aggregate for NoteCounts {
    const FUNCTION: &'static str = "NoteCounts";
    const PARTITION_KEY: &'static str = "ownerId";
    type Change = NotesItem;

    fn sources(&self) -> &Container {
        &self.notes
    }

    fn totals(&self) -> &Container {
        &self.totals
    }

    fn origin(change: &NotesItem) -> Option<Origin> {
        let (owner, id, version) = match change {
            NotesItem::Note(note) => (&note.owner_id, &note.id, note.version),
            NotesItem::DeletedNote(note) => (&note.owner_id, &note.id, note.version),
        };
        Some(Origin::new(owner.as_str(), id.as_str(), version))
    }

    fn contribution(change: &NotesItem) -> Option<Contribution> {
        match change {
            NotesItem::Note(note) => Some(Contribution::new(note.owner_id.as_str(), 1)),
            NotesItem::DeletedNote(_) => None,
        }
    }
}
