//! `DELETE /categories/{categoryId}/products/{productId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, StoreError, Stored, retry},
    http::{ApiError, ItemCommand, Params},
};

use crate::{
    Catalog,
    model::{CategoryId, ProductId},
    moves,
    state::ProductSlot,
};

/// Deletes a product: two store requests. A tombstone takes its place.
pub async fn delete_product(
    State(catalog): State<Catalog>,
    Params((category_id, id)): Params<(CategoryId, ProductId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |attempt: Attempt| {
        let catalog = catalog.reading(attempt.reads);
        let place = ProductSlot::from_item(catalog.place(&category_id, &id).await?);
        let Some(Stored { item: product, etag }) = command.delete(place, "product")? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        if let Some(departure) = &product.departure {
            // The move comes first. Then there is nothing here to delete, unless it was refused.
            moves::end(&catalog, &category_id, &id, departure).await?;
            return Err(StoreError::race(false).into());
        }
        catalog.write(product.deleted(&command.id), Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
