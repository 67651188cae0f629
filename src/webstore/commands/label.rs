//! What categories and tags have in common.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

use crate::{
    cosmos::{Attempt, ETag, Stored, retry},
    http::{self, ApiError, Conditions, Form, FromForm},
    values::CommandId,
    webstore::{
        catalog::Catalog,
        model::{Label, LabelItem, LabelKind, Name},
    },
};

/// The body of `PUT /categories/{categoryId}` and `PUT /tags/{tagId}`.
pub struct LabelName(pub Name);

impl FromForm for LabelName {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.text("name", Name::parse).map(Self)
    }
}

/// A command on a category or a tag.
pub(super) struct LabelCommand<'a> {
    pub(super) kind: LabelKind,
    pub(super) id: &'a str,
    pub(super) conditions: &'a Conditions,
    pub(super) command: &'a CommandId,
}

impl LabelCommand<'_> {
    /// Creates the label or renames it: two store requests.
    pub(super) async fn put(&self, catalog: &Catalog, name: &Name) -> Result<Response, ApiError> {
        retry(async |attempt: Attempt| self.try_put(&catalog.reading(attempt.reads), name).await)
            .await
    }

    async fn try_put(&self, catalog: &Catalog, name: &Name) -> Result<Response, ApiError> {
        let Self { kind, id, conditions, command } = *self;
        let new = || Label::new(kind, id.to_owned(), name.clone(), command);
        match catalog.label(kind, id).await? {
            // By an earlier attempt: others may have renamed it since.
            Some(Stored { item: LabelItem::Live(label), etag }) if label.created_by == *command => {
                Ok(self.created(&label, &etag))
            }
            Some(Stored { item: LabelItem::Live(label), etag }) if label.recent.knows(command) => {
                Ok(http::item(StatusCode::OK, &label.public, &etag))
            }
            Some(Stored { item: LabelItem::Live(label), etag }) => {
                conditions.check(Some(&etag))?;
                if label.public.name == *name {
                    catalog.reads.confirmed()?;
                    return Ok(http::item(StatusCode::OK, &label.public, &etag));
                }
                let renamed = label.renamed(name.clone(), command);
                let etag = self.write(catalog, &renamed, Some(&etag)).await?;
                Ok(http::item(StatusCode::OK, &renamed.public, &etag))
            }
            Some(Stored { item: LabelItem::Deleted(tombstone), etag }) => {
                conditions.check(None)?;
                let label = new().following(&tombstone);
                let etag = self.write(catalog, &label, Some(&etag)).await?;
                Ok(self.created(&label, &etag))
            }
            // No label has the id of a continuation.
            Some(Stored { item: LabelItem::Renaming(_), .. }) | None => {
                conditions.check(None)?;
                let label = new();
                let etag = self.write(catalog, &label, None).await?;
                Ok(self.created(&label, &etag))
            }
        }
    }

    /// Deletes the label, unless products use it: three store requests.
    ///
    /// A product may be created between the count and the tombstone, or be on its way. Then the label
    /// comes back: `projections/label_names.rs` has the argument.
    pub(super) async fn delete(&self, catalog: &Catalog) -> Result<Response, ApiError> {
        retry(async |attempt: Attempt| self.try_delete(&catalog.reading(attempt.reads)).await).await
    }

    async fn try_delete(&self, catalog: &Catalog) -> Result<Response, ApiError> {
        let Self { kind, id, conditions, command } = *self;
        let (label, etag) = match catalog.label(kind, id).await? {
            Some(Stored { item: LabelItem::Deleted(it), .. }) if it.recent.knows(command) => {
                return Ok(StatusCode::NO_CONTENT.into_response());
            }
            // Deleted by an earlier attempt, and created anew since.
            Some(Stored { item: LabelItem::Live(it), .. }) if it.recent.knows(command) => {
                return Ok(StatusCode::NO_CONTENT.into_response());
            }
            Some(Stored { item: LabelItem::Live(label), etag }) => (label, etag),
            _ => return Err(conditions.missing(kind.as_str())),
        };
        conditions.check(Some(&etag))?;
        let uses = catalog.latest_committed().uses(kind, id).await?;
        if uses > 0 {
            return Err(ApiError::InUse(in_use(kind, uses)));
        }
        let tombstone = LabelItem::Deleted(label.deleted(command));
        catalog.labels.replace(kind.as_str(), id, &tombstone, &etag).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }

    async fn write(
        &self,
        catalog: &Catalog,
        label: &Label,
        read: Option<&ETag>,
    ) -> Result<ETag, ApiError> {
        let item = LabelItem::Live(label.clone());
        Ok(catalog.labels.put(self.kind.as_str(), self.id, &item, read).await?)
    }

    fn created(&self, label: &Label, etag: &ETag) -> Response {
        let list = match self.kind {
            LabelKind::Category => "categories",
            LabelKind::Tag => "tags",
        };
        http::created(&format!("/api/{list}/{}", self.id), &label.public, etag)
    }
}

fn in_use(kind: LabelKind, uses: usize) -> String {
    let kind = kind.as_str();
    match uses {
        1 => format!("1 product uses this {kind}. Move, edit or delete it first."),
        _ => format!("{uses} products use this {kind}. Move, edit or delete them first."),
    }
}
