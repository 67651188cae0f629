//! `PUT /categories/{categoryId}` and `PUT /tags/{tagId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, ETag, Stored, retry},
    engines::command::{Put, Wanted},
    http::{self, ApiError, Conditions, Form, FromForm, ItemResponse, JsonBody, Params},
    values::CommandId,
};

use crate::webstore::{
    Catalog,
    model::{Label, LabelId, LabelItem, LabelKind, Name, PublicLabel},
    state::label_place,
};

/// The body of `PUT /categories/{categoryId}` and `PUT /tags/{tagId}`.
pub struct LabelName(Name);

impl FromForm for LabelName {
    fn from_form(form: &mut Form) -> Option<Self> {
        form.text("name", Name::parse).map(Self)
    }
}

/// Creates or renames a label: two store requests. The change feed brings a new name to the products.
pub async fn put_label<Id: LabelId>(
    State(catalog): State<Catalog>,
    Params(id): Params<Id>,
    conditions: Conditions,
    command: CommandId,
    JsonBody(LabelName(name)): JsonBody<LabelName>,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    let label = Label::new(Id::KIND, id.as_ref().to_owned(), name, &command);
    retry(async |attempt: Attempt| {
        let catalog = catalog.reading(attempt.reads);
        let place = label_place(catalog.label(label.kind, id.as_ref()).await?);
        match place.put(&command, attempt, &label) {
            Put::Created(label) => Ok(created(&label.item, &label.etag)),
            Put::Edited(label) => Ok(edited(&label.item, &label.etag)),
            Put::Edit(Stored { item: found, etag }) => {
                conditions.check(Some(&etag))?;
                let name = &label.public.name;
                if found.public.name == *name {
                    catalog.reads.confirmed()?;
                    return Ok(edited(&found, &etag));
                }
                let renamed = found.renamed(name.clone(), &command);
                let etag = write(&catalog, &renamed, Some(&etag)).await?;
                Ok(edited(&renamed, &etag))
            }
            Put::Create(tombstone) => {
                conditions.check(None)?;
                let new = label.clone();
                let new = tombstone.iter().fold(new, |label, it| label.following(&it.item));
                let etag = tombstone.map(|tombstone| tombstone.etag);
                let etag = write(&catalog, &new, etag.as_ref()).await?;
                Ok(created(&new, &etag))
            }
        }
    })
    .await
}

impl Wanted<Self> for Label {
    fn has_created(&self, label: &Self) -> bool {
        label.created_by == self.created_by
    }
}

async fn write(catalog: &Catalog, label: &Label, read: Option<&ETag>) -> Result<ETag, ApiError> {
    let item = LabelItem::Live(label.clone());
    Ok(catalog.labels.put(label.kind.as_str(), &label.public.id, &item, read).await?)
}

fn created(label: &Label, etag: &ETag) -> ItemResponse<PublicLabel> {
    let list = match label.kind {
        LabelKind::Category => "categories",
        LabelKind::Tag => "tags",
    };
    http::created(&format!("/api/{list}/{}", label.public.id), &label.public, etag)
}

fn edited(label: &Label, etag: &ETag) -> ItemResponse<PublicLabel> {
    http::item(StatusCode::OK, &label.public, etag)
}
