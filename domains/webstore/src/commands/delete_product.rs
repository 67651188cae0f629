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

/// Deletes a product: two store requests. A tombstone replaces it.
pub async fn delete_product(
    State(catalog): State<Catalog>,
    Params((category_id, id)): Params<(CategoryId, ProductId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |attempt: Attempt| {
        let catalog = catalog.reading(attempt.reads);
        let slot = ProductSlot::from_item(catalog.product_item(&category_id, &id).await?);
        let Some(Stored { item: product, etag }) = command.delete(slot, "product")? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        if let Some(departure) = &product.departure {
            // The move ends first. The next attempt finds the product here only if the move was refused.
            moves::end(&catalog, &category_id, &id, departure).await?;
            return Err(StoreError::race(false).into());
        }
        catalog.write(product.deleted(&command.id), Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
