//! `DELETE /categories/{categoryId}/products/{productId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, StoreError, Stored, retry},
    engines::command::Delete,
    http::{ApiError, Conditions, Params},
    values::CommandId,
};

use crate::webstore::{
    model::{CategoryId, ProductId, ProductItem},
    moves,
    state::{Catalog, product_place},
};

/// Deletes a product: two store requests. A tombstone takes its place.
pub async fn delete_product(
    State(catalog): State<Catalog>,
    Params((category_id, id)): Params<(CategoryId, ProductId)>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    retry(async |attempt: Attempt| {
        let catalog = catalog.reading(attempt.reads);
        let place = product_place(catalog.place(&category_id, &id).await?);
        let Stored { item: product, etag } = match place.delete(&command) {
            Delete::Live(product) => product,
            Delete::Done => return Ok(StatusCode::NO_CONTENT),
            Delete::Missing => return Err(conditions.missing("product")),
        };
        conditions.check(Some(&etag))?;
        if let Some(departure) = &product.departure {
            // The move comes first. Then there is nothing here to delete, unless it was refused.
            moves::end(&catalog, &category_id, &id, departure).await?;
            return Err(StoreError::race(false).into());
        }
        let tombstone = ProductItem::DeletedProduct(product.deleted(&command));
        catalog.write(&tombstone, Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
