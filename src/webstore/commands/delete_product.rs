//! `DELETE /categories/{categoryId}/products/{productId}`.

use axum::{extract::State, http::StatusCode};

use crate::{
    cosmos::{Attempt, StoreError, Stored, retry},
    http::{ApiError, Conditions, Params},
    values::CommandId,
    webstore::{
        catalog::Catalog,
        model::{CategoryId, ProductId, ProductItem},
        moves,
    },
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
        let (product, etag) = match catalog.place(&category_id, &id).await? {
            // By an earlier attempt. There may be a new product by now, which stays.
            Some(Stored { item, .. }) if item.recent().knows(&command) => {
                return Ok(StatusCode::NO_CONTENT);
            }
            Some(Stored { item: ProductItem::Product(product), etag }) => (product, etag),
            _ => return Err(conditions.missing("product")),
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
