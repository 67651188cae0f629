//! The commands. Each reads the note, decides, and writes it under the ETag that was read; after a lost
//! race or a lost answer it does so again. A note remembers its latest commands, so a command that comes
//! twice is carried out once.

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{
    cosmos::{Attempt, Stored, retry},
    engines::command::{Delete, Put, Wanted},
    http::{self, ApiError, Conditions, ItemResponse, JsonBody, Params},
    values::CommandId,
};

use super::{Note, NoteId, NoteText, Notes, NotesItem, OwnerId};

/// A note as callers see it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Note")]
pub(super) struct PublicNote {
    note_id: NoteId,
    owner_id: OwnerId,
    text: NoteText,
}

impl From<&Note> for PublicNote {
    fn from(Note { id, owner_id, text, .. }: &Note) -> Self {
        Self { note_id: id.clone(), owner_id: owner_id.clone(), text: text.clone() }
    }
}

/// A first version is the creation; a later one is an edit.
struct FirstVersion;

impl Wanted<Note> for FirstVersion {
    fn has_created(&self, note: &Note) -> bool {
        note.version == 1
    }
}

/// Creates a note or edits it: two store requests.
pub(super) async fn put_note(
    State(notes): State<Notes>,
    Params((owner, id)): Params<(OwnerId, NoteId)>,
    conditions: Conditions,
    command: CommandId,
    JsonBody(text): JsonBody<NoteText>,
) -> Result<ItemResponse<PublicNote>, ApiError> {
    retry(async |attempt: Attempt| {
        let place = notes.place(&owner, &id, attempt.reads).await?;
        let (status, note, before) = match place.put(&command, attempt, &FirstVersion) {
            Put::Created(Stored { item, etag }) => {
                return Ok(http::item(StatusCode::CREATED, &PublicNote::from(&item), &etag));
            }
            Put::Edited(Stored { item, etag }) => {
                return Ok(http::item(StatusCode::OK, &PublicNote::from(&item), &etag));
            }
            Put::Create(tombstone) => {
                conditions.check(None)?;
                let before = tombstone.as_ref().map(|tombstone| &tombstone.item);
                let note = Note::new((owner.clone(), id.clone()), text.clone(), before, &command);
                (StatusCode::CREATED, note, tombstone.map(|tombstone| tombstone.etag))
            }
            Put::Edit(Stored { item, etag }) => {
                conditions.check(Some(&etag))?;
                (StatusCode::OK, item.edited(text.clone(), &command), Some(etag))
            }
        };
        let item = NotesItem::Note(note.clone());
        let etag = notes.notes.put(owner.as_str(), id.as_str(), &item, before.as_ref()).await?;
        Ok(http::item(status, &PublicNote::from(&note), &etag))
    })
    .await
}

/// Deletes a note: two store requests.
pub(super) async fn delete_note(
    State(notes): State<Notes>,
    Params((owner, id)): Params<(OwnerId, NoteId)>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let Stored { item, etag } = match notes.place(&owner, &id, reads).await?.delete(&command) {
            Delete::Live(note) => note,
            Delete::Done => return Ok(StatusCode::NO_CONTENT),
            Delete::Missing => return Err(conditions.missing("note")),
        };
        conditions.check(Some(&etag))?;
        let tombstone = NotesItem::DeletedNote(item.deleted(&command));
        notes.notes.put(owner.as_str(), id.as_str(), &tombstone, Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
