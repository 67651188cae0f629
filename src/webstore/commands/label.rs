//! `PUT` and `DELETE` of `/categories/{categoryId}` and `/tags/{tagId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, ETag, Stored, retry},
    engines::command::{Delete, Put, Wanted},
    http::{self, ApiError, Conditions, Form, FromForm, ItemResponse, JsonBody, Params},
    values::CommandId,
};

use crate::webstore::{
    catalog::{Catalog, MAX_COUNTED_PRODUCTS, label_place},
    model::{Label, LabelId, LabelItem, LabelKind, Name, PublicLabel},
};

/// The body of `PUT /categories/{categoryId}` and `PUT /tags/{tagId}`.
pub struct LabelName(pub Name);

impl FromForm for LabelName {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.text("name", Name::parse).map(Self)
    }
}

/// Creates a category or a tag, or renames one: two store requests. The change feed brings a new name to
/// the products.
pub async fn put_label<Id: LabelId>(
    State(catalog): State<Catalog>,
    Params(id): Params<Id>,
    conditions: Conditions,
    command: CommandId,
    JsonBody(LabelName(name)): JsonBody<LabelName>,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    let label = LabelCommand::new(&id, &conditions, &command);
    retry(async |attempt: Attempt| label.put(&catalog.reading(attempt.reads), &name, attempt).await)
        .await
}

/// Deletes a category or a tag, unless products use it: three store requests.
///
/// A product may be created between the count and the tombstone, or be on its way. Then the label
/// comes back: `projections/label_names.rs` has the argument.
pub async fn delete_label<Id: LabelId>(
    State(catalog): State<Catalog>,
    Params(id): Params<Id>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    let label = LabelCommand::new(&id, &conditions, &command);
    retry(async |attempt: Attempt| label.delete(&catalog.reading(attempt.reads)).await).await
}

/// A command on a category or a tag.
struct LabelCommand<'a> {
    kind: LabelKind,
    id: &'a str,
    conditions: &'a Conditions,
    command: &'a CommandId,
}

impl<'a> LabelCommand<'a> {
    fn new<Id: LabelId>(id: &'a Id, conditions: &'a Conditions, command: &'a CommandId) -> Self {
        Self { kind: Id::KIND, id: id.as_ref(), conditions, command }
    }

    async fn put(
        &self,
        catalog: &Catalog,
        name: &Name,
        attempt: Attempt,
    ) -> Result<ItemResponse<PublicLabel>, ApiError> {
        let Self { kind, id, conditions, command } = *self;
        match label_place(catalog.label(kind, id).await?).put(command, attempt, self) {
            Put::Created(label) => Ok(self.created(&label.item, &label.etag)),
            Put::Edited(label) => Ok(edited(&label.item, &label.etag)),
            Put::Edit(Stored { item: label, etag }) => {
                conditions.check(Some(&etag))?;
                if label.public.name == *name {
                    catalog.reads.confirmed()?;
                    return Ok(edited(&label, &etag));
                }
                let renamed = label.renamed(name.clone(), command);
                let etag = self.write(catalog, &renamed, Some(&etag)).await?;
                Ok(edited(&renamed, &etag))
            }
            Put::Create(tombstone) => {
                conditions.check(None)?;
                let label = Label::new(kind, id.to_owned(), name.clone(), command);
                let label = tombstone.iter().fold(label, |label, it| label.following(&it.item));
                let etag = tombstone.map(|tombstone| tombstone.etag);
                let etag = self.write(catalog, &label, etag.as_ref()).await?;
                Ok(self.created(&label, &etag))
            }
        }
    }

    async fn delete(&self, catalog: &Catalog) -> Result<StatusCode, ApiError> {
        let Self { kind, id, conditions, command } = *self;
        let place = label_place(catalog.label(kind, id).await?);
        let Stored { item: label, etag } = match place.delete(command) {
            Delete::Live(label) => label,
            Delete::Done => return Ok(StatusCode::NO_CONTENT),
            Delete::Missing => return Err(conditions.missing(kind.as_str())),
        };
        conditions.check(Some(&etag))?;
        let uses = catalog.latest_committed().uses(kind, id).await?;
        if uses != Some(0) {
            return Err(ApiError::InUse(in_use(kind, uses)));
        }
        let tombstone = LabelItem::Deleted(label.deleted(command));
        catalog.labels.replace(kind.as_str(), id, &tombstone, &etag).await?;
        Ok(StatusCode::NO_CONTENT)
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

    fn created(&self, label: &Label, etag: &ETag) -> ItemResponse<PublicLabel> {
        let list = match self.kind {
            LabelKind::Category => "categories",
            LabelKind::Tag => "tags",
        };
        http::created(&format!("/api/{list}/{}", self.id), &label.public, etag)
    }
}

impl Wanted<Label> for LabelCommand<'_> {
    fn has_created(&self, label: &Label) -> bool {
        label.created_by == *self.command
    }
}

fn edited(label: &Label, etag: &ETag) -> ItemResponse<PublicLabel> {
    http::item(StatusCode::OK, &label.public, etag)
}

fn in_use(kind: LabelKind, uses: Option<usize>) -> String {
    let kind = kind.as_str();
    match uses {
        Some(1) => format!("1 product uses this {kind}. Move, edit or delete it first."),
        Some(uses) => {
            format!("{uses} products use this {kind}. Move, edit or delete them first.")
        }
        None => format!(
            "More than {MAX_COUNTED_PRODUCTS} products use this {kind}. Move, edit or delete them first."
        ),
    }
}
