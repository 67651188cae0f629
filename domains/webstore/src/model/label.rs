//! Labels: a label is a category or a tag. Products carry copies of its name.
//!
//! The container of labels is `productMeta`, and the projection of their names is `LabelNames`. Both
//! names are stored, deployed or a part of the API, and stay. Messages to callers say "category" or
//! "tag".

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tributary_functions::{
    engines::{idempotency::RemembersCommands, name_list::sort_key},
    projection::{fan_out::Continuation, item, items},
    values::{self, CommandId, id_rule, length_rule},
};

values::checked_text!(
    /// The id of a category.
    CategoryId, "kitchen", id_rule;

    /// The id of a tag.
    TagId, "new", id_rule;

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

impl AsRef<str> for LabelKind {
    fn as_ref(&self) -> &str {
        self.as_str()
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
#[items(partition_key = "type", tag = "state")]
pub enum LabelItem {
    Live(Label),
    Deleted(DeletedLabel),
    /// The continuation of a rename.
    Renaming(Continuation),
}

#[item(LabelItem, partition = kind, id = id, version, created_by, public(PublicLabel), tombstone(struct DeletedLabel {
    #[serde(rename = "type")]
    kind: LabelKind,
    id: String,
    name: Name,
}))]
pub struct Label {
    #[serde(rename = "type")]
    pub kind: LabelKind,
    #[serde(flatten)]
    pub public: PublicLabel,
    /// [`Name::sort_key`] of the name.
    pub sort_name: String,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelCopy {
    pub id: String,
    pub name: Name,
    pub version: u64,
}

impl Label {
    pub fn new(kind: LabelKind, id: String, name: Name, command: &CommandId) -> Self {
        let sort_name = name.sort_key();
        Self::first(kind, PublicLabel { id, name }, sort_name, command)
    }

    pub fn renamed(&self, name: Name, command: &CommandId) -> Self {
        let sort_name = name.sort_key();
        let public = PublicLabel { name, ..self.public.clone() };
        Self { public, sort_name, ..self.next() }.remembering(command)
    }

    pub fn copy(&self) -> LabelCopy {
        let PublicLabel { id, name } = self.public.clone();
        LabelCopy { id, name, version: self.version }
    }
}

impl LabelCopy {
    /// Returns the deleted label again, since a product has this copy of it. Its tombstone may have
    /// expired.
    pub fn restored(&self, kind: LabelKind, deleted: Option<&DeletedLabel>) -> Label {
        let name = deleted.map_or(&self.name, |deleted| &deleted.name).clone();
        let label = Label::new(kind, self.id.clone(), name, &CommandId::fresh());
        Label { version: self.version + 1, ..label }.replacing(deleted)
    }
}
