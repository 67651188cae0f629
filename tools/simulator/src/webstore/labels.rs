//! Categories and tags: the name of each.

use crate::{Recent, Reply};

use super::{Begun, WebStore};

/// A category or a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Which of both.
    pub kind: Kind,
    /// Its number among its kind.
    pub number: usize,
}

/// The kind of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Kind {
    Category,
    Tag,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    /// The name once it was acknowledged.
    pub(super) name: Option<String>,
    former: Recent<Option<String>>,
    /// The label may be there already, though nothing was acknowledged.
    begun: bool,
}

impl Label {
    pub(super) fn id(self) -> String {
        let Self { kind, number } = self;
        match kind {
            Kind::Category => format!("category-{number}"),
            Kind::Tag => format!("tag-{number}"),
        }
    }

    pub(super) fn path(self) -> String {
        let list = match self.kind {
            Kind::Category => "categories",
            Kind::Tag => "tags",
        };
        format!("/api/{list}/{}", self.id())
    }
}

impl WebStore {
    pub(super) fn named(&self, label: Label) -> &Named {
        match label.kind {
            Kind::Category => &self.categories[label.number],
            Kind::Tag => &self.tags[label.number],
        }
    }

    pub(super) fn named_mut(&mut self, label: Label) -> &mut Named {
        match label.kind {
            Kind::Category => &mut self.categories[label.number],
            Kind::Tag => &mut self.tags[label.number],
        }
    }

    pub(super) fn is_missing(&self, label: Label) -> bool {
        self.named(label).name.is_none()
    }

    pub(super) fn label_begins(&mut self, label: Label) {
        self.named_mut(label).begun = true;
    }

    /// Whether labels exist: `None` when one may or may not. No label is ever deleted.
    pub(super) fn exist(&self, labels: impl IntoIterator<Item = Label>) -> Option<bool> {
        let mut all = Some(true);
        for label in labels {
            match self.named(label) {
                Named { name: Some(_), .. } => {}
                Named { begun: true, .. } => all = None,
                Named { .. } => return Some(false),
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
        let named = self.named_mut(label);
        let is_new = named.name.is_none();
        named.former.push(named.name.replace(name.to_owned()));
        let status = match reply.status {
            201 => is_new,
            200 => !is_new || again,
            _ => false,
        };
        status && reply.body["name"] == name && reply.body["id"] == label.id()
    }

    /// Returns true if the answer shows the label as it is, or as it was not long ago. What is not
    /// found is confirmed.
    pub(super) fn label_shown(&self, label: Label, begun: &Begun, reply: &Reply) -> bool {
        let Named { name, former, .. } = self.named(label);
        let shown = |name: &Option<String>| match name {
            Some(name) => reply.status == 200 && reply.body["name"] == **name,
            None => reply.status == 404,
        };
        let mut former = former.since(begun.oldest).filter(|name| name.is_some());
        shown(name) || former.any(shown)
    }
}
