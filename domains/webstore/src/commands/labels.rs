//! Commands of labels.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, Stored, retry},
    engines::command::{DesiredItem, PutStep, WrittenItem},
    http::{ApiError, ItemCommand, ItemResponse, JsonBody, Params, from_form},
};

use crate::{
    WebStore,
    model::{Label, LabelId, LabelKind, Name, PublicLabel},
    state::LabelSlot,
};

/// The body: the name of the label.
pub struct LabelName(Name);

from_form!(LabelName(text("name", Name::parse)));

/// Creates or renames a label: two store requests. The change feed brings a new name to the products.
pub async fn put_label<Id: LabelId>(
    State(store): State<WebStore>,
    Params(id): Params<Id>,
    command: ItemCommand,
    JsonBody(LabelName(name)): JsonBody<LabelName>,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    let label = Label::new(Id::KIND, id.as_ref().to_owned(), name, &command.id);
    retry(async |attempt: Attempt| {
        let store = store.reading(attempt.reads);
        let slot = LabelSlot::from_item(store.label(label.kind, id.as_ref()).await?);
        let written = match command.put(slot, attempt, &label)? {
            PutStep::Done(written) => written,
            PutStep::Edit(found) => {
                let renamed = found.item.renamed(label.public.name.clone(), &command.id);
                WrittenItem::edited(store.write_label(renamed, Some(&found.etag)).await?)
            }
            PutStep::Create(None) => {
                WrittenItem::created(store.write_label(label.clone(), None).await?)
            }
            PutStep::Create(Some(tombstone)) => {
                let label = label.clone().replacing(&tombstone.item);
                WrittenItem::created(store.write_label(label, Some(&tombstone.etag)).await?)
            }
        };
        Ok(written.answer(&written.stored.item.public, location))
    })
    .await
}

impl DesiredItem<Self> for Label {
    fn has_created(&self, label: &Self) -> bool {
        label.created_by == self.created_by
    }

    fn is_satisfied_by(&self, label: &Self) -> bool {
        label.public.name == self.public.name
    }
}

fn location(label: &Label) -> String {
    let list = match label.kind {
        LabelKind::Category => "categories",
        LabelKind::Tag => "tags",
    };
    format!("/api/{list}/{}", label.public.id)
}

const MAX_COUNTED_PRODUCTS: u32 = 100;

/// Deletes a label, unless products use it: three store requests.
///
/// A product may be created between the count and the tombstone, or its command may have read the
/// label before. Then the label is restored: `projections/label_names.rs` has the argument.
pub async fn delete_label<Id: LabelId>(
    State(store): State<WebStore>,
    Params(id): Params<Id>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let kind = Id::KIND;
    let id = id.as_ref();
    retry(async |attempt: Attempt| {
        let store = store.reading(attempt.reads);
        let slot = LabelSlot::from_item(store.label(kind, id).await?);
        let Some(Stored { item: label, etag }) = command.delete(slot, kind.as_str())? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        let uses = store.latest_committed().count_uses(kind, id, MAX_COUNTED_PRODUCTS).await?;
        if uses != Some(0) {
            return Err(ApiError::InUse(in_use(kind, uses)));
        }
        store.write_label(label.deleted(&command.id), Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
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
