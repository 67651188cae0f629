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

use tributary_functions::{
    audit::{AggregateChecks, Audit},
    config::ConfigError,
    cosmos::{Container, Reads, StoreError, Stored},
    domain::{Context, Domain, bind},
    engines::command::ItemSlot,
    http::{AuthLevel::Anonymous, AuthLevel::Function, HttpFunction, delete, get, put},
    projection::aggregate::AggregateProjection,
};

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
pub struct Notes {
    notes: Container,
    counts: NoteCounts,
}

/// The state of a note's place: free, a note, or a tombstone.
type NoteSlot = ItemSlot<Note, DeletedNote>;

/// Returns the notes as a domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let counts = NoteCounts::new(context.cosmos);
    let notes = Notes { notes: context.cosmos.container("notes"), counts: counts.clone() };
    let audited = counts.clone();
    let checks = move || AggregateChecks::new(audited.clone());
    Ok(Domain {
        http_functions: bind(http_functions(), &notes),
        projections: vec![Arc::new(AggregateProjection(counts.clone()))],
        audit: Some(Audit::new("AuditNotes", "0 0 3 * * 0", checks)),
        containers: vec![notes.notes, counts.totals],
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
    async fn place(
        &self,
        owner: &OwnerId,
        id: &NoteId,
        reads: Reads,
    ) -> Result<NoteSlot, StoreError> {
        let stored = self.notes.reading(reads).read(owner.as_str(), id.as_str()).await?;
        Ok(match stored {
            Some(Stored { item: NotesItem::Note(item), etag }) => {
                ItemSlot::Live(Stored { item, etag })
            }
            Some(Stored { item: NotesItem::DeletedNote(item), etag }) => {
                ItemSlot::Deleted(Stored { item, etag })
            }
            None => ItemSlot::Empty,
        })
    }
}
