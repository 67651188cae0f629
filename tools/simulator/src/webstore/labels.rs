//! Categories and tags: the name of each.

use crate::{Recent, Reply};

use super::{WebStore, WebStoreStart};

/// A category or a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// A category or a tag.
    pub kind: LabelKind,
    /// Its number among its kind.
    pub number: usize,
}

/// The kind of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum LabelKind {
    Category,
    Tag,
}

#[derive(Debug, Clone, Default)]
pub(super) struct LabelState {
    /// The name once it was acknowledged.
    pub(super) name: Option<String>,
    former: Recent<Option<String>>,
    /// True if the label may exist although no creation was acknowledged.
    begun: bool,
}

impl Label {
    pub(super) fn id(self) -> String {
        let Self { kind, number } = self;
        match kind {
            LabelKind::Category => format!("category-{number}"),
            LabelKind::Tag => format!("tag-{number}"),
        }
    }

    pub(super) fn path(self) -> String {
        let list = match self.kind {
            LabelKind::Category => "categories",
            LabelKind::Tag => "tags",
        };
        format!("/api/{list}/{}", self.id())
    }
}

impl WebStore {
    pub(super) fn label_state(&self, label: Label) -> &LabelState {
        match label.kind {
            LabelKind::Category => &self.categories[label.number],
            LabelKind::Tag => &self.tags[label.number],
        }
    }

    pub(super) fn label_state_mut(&mut self, label: Label) -> &mut LabelState {
        match label.kind {
            LabelKind::Category => &mut self.categories[label.number],
            LabelKind::Tag => &mut self.tags[label.number],
        }
    }

    pub(super) fn is_missing(&self, label: Label) -> bool {
        self.label_state(label).name.is_none()
    }

    pub(super) fn label_begins(&mut self, label: Label) {
        self.label_state_mut(label).begun = true;
    }

    /// Returns true if labels exist: `None` if that is unknown. No label is ever deleted.
    pub(super) fn exist(&self, labels: impl IntoIterator<Item = Label>) -> Option<bool> {
        let mut all = Some(true);
        for label in labels {
            match self.label_state(label) {
                LabelState { name: Some(_), .. } => {}
                LabelState { begun: true, .. } => all = None,
                LabelState { .. } => return Some(false),
            }
        }
        all
    }

    pub(super) fn label_put(
        &mut self,
        label: Label,
        name: &str,
        reply: &Reply,
        again: bool,
    ) -> bool {
        let named = self.label_state_mut(label);
        let is_new = named.name.is_none();
        named.former.push(named.name.replace(name.to_owned()));
        let status = match reply.status {
            201 => is_new,
            200 => !is_new || again,
            _ => false,
        };
        status && reply.body["name"] == name && reply.body["id"] == label.id()
    }

    /// Returns true if the answer shows the present state of the label, or a recent one. A 404 is
    /// confirmed by the newest state.
    pub(super) fn label_shown(&self, label: Label, start: &WebStoreStart, reply: &Reply) -> bool {
        let LabelState { name, former, .. } = self.label_state(label);
        let shown = |name: &Option<String>| match name {
            Some(name) => reply.status == 200 && reply.body["name"] == **name,
            None => reply.status == 404,
        };
        let mut former = former.since(start.oldest).filter(|name| name.is_some());
        shown(name) || former.any(shown)
    }
}
