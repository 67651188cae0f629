//! `DELETE /categories/{categoryId}` and `DELETE /tags/{tagId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, Stored, retry},
    http::{ApiError, ItemCommand, Params},
};

use crate::{
    Catalog,
    model::{LabelId, LabelKind},
    state::LabelSlot,
};

/// The most products of a label that are counted.
const MAX_COUNTED_PRODUCTS: u32 = 100;

/// Deletes a label, unless products use it: three store requests.
///
/// A product may be created between the count and the tombstone, or its command may have read the
/// label before. Then the label is restored: `projections/label_names.rs` has the argument.
pub async fn delete_label<Id: LabelId>(
    State(catalog): State<Catalog>,
    Params(id): Params<Id>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let kind = Id::KIND;
    let id = id.as_ref();
    retry(async |attempt: Attempt| {
        let catalog = catalog.reading(attempt.reads);
        let slot = LabelSlot::from_item(catalog.label(kind, id).await?);
        let Some(Stored { item: label, etag }) = command.delete(slot, kind.as_str())? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        let uses = catalog.latest_committed().count_uses(kind, id, MAX_COUNTED_PRODUCTS).await?;
        if uses != Some(0) {
            return Err(ApiError::InUse(in_use(kind, uses)));
        }
        catalog.write_label(label.deleted(&command.id), Some(&etag)).await?;
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
