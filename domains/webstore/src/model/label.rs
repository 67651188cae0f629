//! Labels: a label is a category or a tag. Products relocate copies of its name.
//!
//! The container of labels is `productMeta`, and the projection of their names is `LabelNames`. Both
//! names are stored, deployed or a part of the API, and stay. Messages to callers say "category" or
//! "tag".

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CategoryId, TagId};
use tributary_functions::{
    engines::{
        idempotency::{RecentCommands, RemembersCommands, remembers},
        name_list::sort_key,
        tombstone,
    },
    projection::{Origin, fan_out::Continuation},
    values::{self, CommandId, item_types, length_rule},
};

values::checked_text!(
    /// The name of a category, a tag or a product: 1 to 200 characters.
    Name, "Stoneware", length_rule(1..=200)
);

impl Name {
    pub fn sort_key(&self) -> String {
        sort_key(self.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LabelKind {
    /// A product has one category, which is its partition key.
    Category,
    /// A product has any number of tags.
    Tag,
}

impl LabelKind {
    /// Returns the partition key of all labels of this kind, which is also the word for one.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Category => "category",
            Self::Tag => "tag",
        }
    }
}

pub trait LabelId: AsRef<str> + Send + Sync {
    const KIND: LabelKind;
}

impl LabelId for CategoryId {
    const KIND: LabelKind = LabelKind::Category;
}

impl LabelId for TagId {
    const KIND: LabelKind = LabelKind::Tag;
}

/// The items of the container `productMeta`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum LabelItem {
    Live(Label),
    Deleted(DeletedLabel),
    /// The continuation of a rename.
    Renaming(Continuation),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Label {
    #[serde(rename = "type")]
    pub kind: LabelKind,
    #[serde(flatten)]
    pub public: PublicLabel,
    /// [`Name::sort_key`] of the name.
    pub sort_name: String,
    pub version: u64,
    pub created_by: CommandId,
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    pub recent: RecentCommands,
}

/// A category or a tag, as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Label")]
pub struct PublicLabel {
    /// Chosen by the caller.
    #[schemars(with = "TagId")]
    pub id: String,
    /// As the caller wrote it.
    pub name: Name,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedLabel {
    #[serde(rename = "type")]
    pub kind: LabelKind,
    pub id: String,
    pub name: Name,
    /// One above the version of the label that was deleted.
    pub version: u64,
    /// The commands that were lately carried out on the label, the one that deleted it among them.
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    pub recent: RecentCommands,
    pub ttl: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelCopy {
    pub id: String,
    pub name: Name,
    pub version: u64,
}

item_types!(LabelItem: Live(Label), Deleted(DeletedLabel), Renaming(Continuation));

impl LabelItem {
    pub fn origin(&self) -> Origin {
        match self {
            Self::Live(it) => Origin::new(it.kind.as_str(), &it.public.id, it.version),
            Self::Deleted(it) => Origin::new(it.kind.as_str(), &it.id, it.version),
            Self::Renaming(continuation) => continuation.origin(),
        }
    }
}

impl Label {
    pub fn new(kind: LabelKind, id: String, name: Name, command: &CommandId) -> Self {
        Self {
            kind,
            sort_name: name.sort_key(),
            public: PublicLabel { id, name },
            version: 1,
            created_by: command.clone(),
            recent: RecentCommands::default(),
        }
    }

    /// Returns the label in the version after the tombstone that it replaces. Copies of the deleted
    /// label are older.
    pub fn replacing(mut self, deleted: &DeletedLabel) -> Self {
        self.version = deleted.version + 1;
        self.recent = deleted.recent.clone();
        self
    }

    pub fn renamed(mut self, name: Name, command: &CommandId) -> Self {
        self.sort_name = name.sort_key();
        self.public.name = name;
        self.version += 1;
        self.remembering(command)
    }

    /// Returns the tombstone of the label after its deletion by this command.
    pub fn deleted(self, command: &CommandId) -> DeletedLabel {
        let Self { kind, public: PublicLabel { id, name }, version, recent, .. } =
            self.remembering(command);
        let version = version + 1;
        DeletedLabel { kind, id, name, version, recent, ttl: tombstone::TTL_SECONDS }
    }

    pub fn copy(&self) -> LabelCopy {
        let PublicLabel { id, name } = self.public.clone();
        LabelCopy { id, name, version: self.version }
    }
}

remembers!(DeletedLabel);
remembers!(created_by: Label);

impl DeletedLabel {
    /// Returns the deleted label again, since a product uses it.
    pub fn restored(&self) -> Label {
        let command = CommandId::fresh();
        Label::new(self.kind, self.id.clone(), self.name.clone(), &command).replacing(self)
    }
}

impl LabelCopy {
    /// Returns the label of which a product has this copy, if even its tombstone has expired.
    pub fn restored(&self, kind: LabelKind) -> Label {
        let label = Label::new(kind, self.id.clone(), self.name.clone(), &CommandId::fresh());
        Label { version: self.version + 1, ..label }
    }
}
