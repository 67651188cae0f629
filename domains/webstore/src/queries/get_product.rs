//! `GET /categories/{categoryId}/products/{productId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
};

use crate::{
    Catalog,
    model::{CategoryId, ProductId, PublicProduct},
};

/// Returns a product with the names of its labels: one point read.
pub async fn get_product(
    State(catalog): State<Catalog>,
    Params((category_id, id)): Params<(CategoryId, ProductId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicProduct>, ApiError> {
    let find = async |reads| {
        let product = catalog.reading(reads).product(&category_id, &id).await?;
        product.ok_or(ApiError::NotFound("product"))
    };
    let product = confirm(find).await?;
    Ok(found(&conditions, &product.item.public(), &product.etag))
}
