//! Notes and their copies as they are stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::tombstone::TTL_SECONDS,
    http::from_form,
    projection::{
        ChangeFeedItem, Origin, VersionedCopy,
        copies::{AuditedCopies, Copies},
    },
    values::{Timestamp, checked_text, id_rule, length_rule, may_be_rewritten_by_host},
};

checked_text!(
    /// The id of a note.
    NoteId, "n1", id_rule;

    /// The id of an owner.
    OwnerId, "ann", id_rule;

    /// A title: 1 to 100 characters.
    Title, "A note", length_rule(1..=100)
);

/// The note in a request.
pub(super) struct NoteText {
    pub(super) owner_id: OwnerId,
    pub(super) title: Title,
}

from_form!(NoteText {
    owner_id: text("ownerId", OwnerId::parse),
    title: text("title", Title::parse),
});

/// A note, or the tombstone of a deleted one: it has a `ttl`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Note {
    pub(super) id: NoteId,
    pub(super) note_id: NoteId,
    #[serde(flatten)]
    pub(super) content: Content,
}

/// An old copy of a note, or its tombstone.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Content {
    pub(super) r#type: NoteType,
    pub(super) owner_id: OwnerId,
    pub(super) title: Title,
    /// Raised by each write.
    pub(super) version: u64,
    pub(super) creation_date: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ttl: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum NoteType {
    Note,
    Deleted,
}

/// A note as the API shows it, with the shape of the copy that it is from.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Note")]
pub(super) struct PublicNote {
    pub(super) id: NoteId,
    pub(super) text: String,
    pub(super) date: Timestamp,
    pub(super) shape: String,
}

/// The copy of a note beside its owner.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OldCopy {
    pub(super) id: NoteId,
    #[serde(flatten)]
    pub(super) content: Content,
}

/// The new copy of a note: other names, another text, another order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewCopy {
    pub(super) id: NoteId,
    pub(super) owner: OwnerId,
    pub(super) r#type: NoteType,
    pub(super) heading: String,
    pub(super) version: u64,
    pub(super) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ttl: Option<u32>,
}

impl Note {
    /// Returns the next version of a note, or the first.
    pub(super) fn new(id: NoteId, text: NoteText, before: Option<&Self>) -> Self {
        let before = before.map(|before| &before.content);
        let is_live = before.is_some_and(|before| before.r#type == NoteType::Note);
        let content = Content {
            r#type: NoteType::Note,
            owner_id: text.owner_id,
            title: text.title,
            version: before.map_or(0, |before| before.version) + 1,
            creation_date: before
                .filter(|_| is_live)
                .map_or_else(Timestamp::now, |before| before.creation_date),
            ttl: None,
        };
        Self { id: id.clone(), note_id: id, content }
    }

    pub(super) fn is_live(&self) -> bool {
        self.content.r#type == NoteType::Note
    }

    pub(super) fn deleted(&self) -> Self {
        let mut deleted = self.clone();
        deleted.content.r#type = NoteType::Deleted;
        deleted.content.version += 1;
        deleted.content.ttl = Some(TTL_SECONDS);
        deleted
    }
}

impl ChangeFeedItem for Note {
    const PARTITION_KEY: &'static str = "noteId";

    fn origin(&self) -> Option<Origin> {
        Some(Origin::root(&self.note_id, self.content.version))
    }
}

fn may_be_rewritten(note: &Note) -> bool {
    may_be_rewritten_by_host(note.content.title.as_str())
}

/// The old projection.
pub(super) struct NotesOfOwners;

impl Copies for NotesOfOwners {
    const FUNCTION: &'static str = super::OLD;
    type Change = Note;
    type Copy = OldCopy;

    fn copies_of(note: &Note) -> Vec<VersionedCopy<OldCopy>> {
        let Note { id, content, .. } = note.clone();
        let partition = content.owner_id.to_string();
        let version = content.version;
        let copy = OldCopy { id, content };
        vec![VersionedCopy { partition, id: note.id.to_string(), version, item: copy }]
    }

    fn may_be_rewritten(note: &Note) -> bool {
        may_be_rewritten(note)
    }
}

impl AuditedCopies for NotesOfOwners {
    const PARTITION_KEY: &'static str = "ownerId";

    fn source(copy: &OldCopy) -> Option<(String, String)> {
        Some((copy.id.to_string(), copy.id.to_string()))
    }
}

/// Its successor.
pub(super) struct HeadingsOfOwners;

impl Copies for HeadingsOfOwners {
    const FUNCTION: &'static str = super::NEW;
    type Change = Note;
    type Copy = NewCopy;

    fn copies_of(note: &Note) -> Vec<VersionedCopy<NewCopy>> {
        let Content { r#type, owner_id, title, version, creation_date, ttl } = note.content.clone();
        let copy = NewCopy {
            id: note.id.clone(),
            owner: owner_id,
            r#type,
            heading: title.as_str().to_uppercase(),
            version,
            created_at: creation_date,
            ttl,
        };
        let partition = copy.owner.to_string();
        vec![VersionedCopy { partition, id: note.id.to_string(), version, item: copy }]
    }

    fn may_be_rewritten(note: &Note) -> bool {
        may_be_rewritten(note)
    }
}

impl AuditedCopies for HeadingsOfOwners {
    const PARTITION_KEY: &'static str = "owner";

    fn source(copy: &NewCopy) -> Option<(String, String)> {
        Some((copy.id.to_string(), copy.id.to_string()))
    }
}
