//! Commands of labels.

use tributary_functions::prelude::*;

use crate::{
    WebStore,
    model::{DeletedLabel, Label, LabelId, Name, PublicLabel},
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
    let edit = |label: &Label| {
        Ok((label.public.name != name).then(|| label.renamed(name.clone(), &command.id)))
    };
    let create = async |before: Option<DeletedLabel>| {
        let label = Label::new(Id::KIND, id.as_ref().to_owned(), name.clone(), &command.id);
        Ok(label.replacing(before.as_ref()))
    };
    command.put_item(&store.labels, (&Id::KIND, &id), edit, create).await
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
    retry(async |_| {
        let slot = store.labels.slot::<Label>(Id::KIND, &id).await?;
        let Some(Stored { item, etag }) = command.delete(slot, Id::KIND.as_str())? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        let latest = store.latest_committed();
        let uses = latest.count_uses(Id::KIND, id.as_ref(), MAX_COUNTED_PRODUCTS).await?;
        if uses != Some(0) {
            return Err(ApiError::InUse(in_use(Id::KIND.as_str(), uses)));
        }
        store.labels.save(item.deleted(&command.id), Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

fn in_use(kind: &str, uses: Option<usize>) -> String {
    let number = match uses {
        Some(1) => return format!("1 product uses this {kind}. Move, edit or delete it first."),
        Some(uses) => uses.to_string(),
        None => format!("More than {MAX_COUNTED_PRODUCTS}"),
    };
    format!("{number} products use this {kind}. Move, edit or delete them first.")
}
