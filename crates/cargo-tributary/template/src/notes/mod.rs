//! Notes of owners, and the number of notes of each owner.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `notes` | an owner | the owner's notes, and tombstones of deleted ones |
//! | `note-counts` | an owner | the number of notes, which the change feed keeps |

mod commands;
mod model;
mod note_counts;
mod queries;

use std::sync::Arc;

use tributary_functions::prelude::*;

use self::{
    commands::{delete_note, put_note},
    queries::{get_note, get_note_count},
};
pub use self::{
    model::{DeletedNote, Note, NoteId, NoteText, NotesItem, OwnerId},
    note_counts::NoteCounts,
};

/// The notes in a database. Cloning is cheap.
#[derive(Clone)]
struct Notes {
    notes: Container,
    counts: Container,
}

/// The slot of a note: empty, a note, or a tombstone.
type NoteSlot = ItemSlot<Note, DeletedNote>;

/// Returns the notes as a domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let [notes, counts] = ["notes", "note-counts"].map(|id| context.cosmos.container(id));
    let function = "AuditNotes";
    let sundays = "0 0 3 * * 0";
    Ok(Domain {
        projections: vec![Arc::new(AggregateProjection::<NoteCounts>::new(&notes, &counts))],
        audit: Some(Audit::of_aggregate::<NoteCounts>(function, sundays, &notes, &counts)),
        containers: vec![notes.clone(), counts.clone()],
        http_functions: bind(http_functions(), &Notes { notes, counts }),
        ..Domain::new("notes")
    })
}

#[rustfmt::skip]
fn http_functions() -> Vec<HttpFunction<Notes>> {
    vec![
        put("PutNote",       "/api/owners/{ownerId}/notes/{noteId}", Function,  put_note),
        get("GetNote",       "/api/owners/{ownerId}/notes/{noteId}", Anonymous, get_note),
        delete("DeleteNote", "/api/owners/{ownerId}/notes/{noteId}", Function,  delete_note),
        get("GetNoteCount",  "/api/owners/{ownerId}/note-count",     Anonymous, get_note_count),
    ]
}

impl Notes {
    async fn slot(
        &self,
        owner: &OwnerId,
        id: &NoteId,
        reads: Reads,
    ) -> Result<NoteSlot, StoreError> {
        let notes = self.notes.reading(reads);
        Ok(ItemSlot::from_item(notes.read::<NotesItem>(owner.as_str(), id.as_str()).await?))
    }
}
