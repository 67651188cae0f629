//! The stored items of notes, and the rules of their values.

use serde::{Deserialize, Serialize};
use tributary_functions::prelude::*;

checked_text!(
    /// The id of an owner.
    OwnerId, "ann", id_rule;

    /// The id of a note.
    NoteId, "n1", id_rule;

    /// The text of a note: 1 to 1,000 characters.
    NoteText, "Buy bread", length_rule(1..=1_000)
);

from_form!(NoteText: text("text", NoteText::parse));

/// An item of the container `notes`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum NotesItem {
    /// A note.
    Note(Note),
    /// The tombstone of a deleted note.
    DeletedNote(DeletedNote),
}

/// A note.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The id.
    pub id: NoteId,
    /// The partition key.
    pub owner_id: OwnerId,
    /// The text.
    pub text: NoteText,
    /// The version, which rises with each write, also over a deletion.
    pub version: u64,
    /// The latest commands.
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    pub recent: RecentCommands,
}

/// The tombstone of a deleted note. The change feed delivers it to the projections, and it expires.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedNote {
    /// The id of the note.
    pub id: NoteId,
    /// The partition key.
    pub owner_id: OwnerId,
    /// The version of the deletion.
    pub version: u64,
    /// The latest commands.
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    pub recent: RecentCommands,
    /// The time to live, in seconds.
    pub ttl: u32,
}

remembers!(Note, DeletedNote);
item_types!(NotesItem: Note(Note), DeletedNote(DeletedNote));

impl Note {
    /// Creates a note; `before` is the tombstone of a deleted one with its id.
    pub fn new(
        (owner_id, id): (OwnerId, NoteId),
        text: NoteText,
        before: Option<&DeletedNote>,
        command: &CommandId,
    ) -> Self {
        let (version, recent) = before.map_or_else(
            || (1, RecentCommands::default()),
            |before| (before.version + 1, before.recent.clone()),
        );
        Self { id, owner_id, text, version, recent }.remembering(command)
    }

    /// Returns the note with another text.
    pub fn edited(&self, text: NoteText, command: &CommandId) -> Self {
        Self { text, version: self.version + 1, ..self.clone() }.remembering(command)
    }

    /// Returns the tombstone that the note leaves.
    pub fn deleted(&self, command: &CommandId) -> DeletedNote {
        let Self { id, owner_id, version, recent, .. } = self.clone().remembering(command);
        DeletedNote { id, owner_id, version: version + 1, recent, ttl: tombstone::TTL_SECONDS }
    }
}
