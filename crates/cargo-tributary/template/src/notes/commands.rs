//! The commands. Each reads the note, decides, and writes the note under the ETag that it read. After a
//! lost race or a lost answer it retries. A note has the ids of its latest commands, so a repeated command
//! is carried out once.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

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

/// A new note, told from an edited one by its version.
struct FirstVersion;

impl DesiredItem<Note> for FirstVersion {
    fn has_created(&self, note: &Note) -> bool {
        note.version == 1
    }
}

/// Creates a note or edits it: two store requests.
pub(super) async fn put_note(
    State(notes): State<Notes>,
    Params((owner, id)): Params<(OwnerId, NoteId)>,
    command: ItemCommand,
    JsonBody(text): JsonBody<NoteText>,
) -> Result<ItemResponse<PublicNote>, ApiError> {
    retry(async |attempt: Attempt| {
        let slot = notes.slot(&owner, &id, attempt.reads).await?;
        let (note, before, is_new) = match command.put(slot, attempt, &FirstVersion)? {
            PutStep::Done(written) => return Ok(answer(&written)),
            PutStep::Create(tombstone) => {
                let before = tombstone.as_ref().map(|tombstone| &tombstone.item);
                let key = (owner.clone(), id.clone());
                let note = Note::new(key, text.clone(), before, &command.id);
                (note, tombstone.map(|tombstone| tombstone.etag), true)
            }
            PutStep::Edit(Stored { item, etag }) => {
                (item.edited(text.clone(), &command.id), Some(etag), false)
            }
        };
        let item = NotesItem::Note(note.clone());
        let etag = notes.notes.put(owner.as_str(), id.as_str(), &item, before.as_ref()).await?;
        Ok(answer(&WrittenItem { stored: Stored { item: note, etag }, is_new }))
    })
    .await
}

fn answer(written: &WrittenItem<Note>) -> ItemResponse<PublicNote> {
    let location = |note: &Note| format!("/api/owners/{}/notes/{}", note.owner_id, note.id);
    written.answer(&PublicNote::from(&written.stored.item), location)
}

/// Deletes a note: two store requests.
pub(super) async fn delete_note(
    State(notes): State<Notes>,
    Params((owner, id)): Params<(OwnerId, NoteId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |Attempt { reads, .. }| {
        let slot = notes.slot(&owner, &id, reads).await?;
        let Some(Stored { item, etag }) = command.delete(slot, "note")? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        let tombstone = NotesItem::DeletedNote(item.deleted(&command.id));
        notes.notes.put(owner.as_str(), id.as_str(), &tombstone, Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
