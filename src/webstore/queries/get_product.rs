//! `GET /categories/{categoryId}/products/{productId}`.

use axum::{extract::State, response::Response};
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, Params, found},
};

use crate::webstore::{
    catalog::Catalog,
    model::{CategoryId, ProductId},
};

/// A product with the names of its category and its tags: one point read.
pub async fn get_product(
    State(catalog): State<Catalog>,
    Params((category_id, id)): Params<(CategoryId, ProductId)>,
    conditions: Conditions,
) -> Result<Response, ApiError> {
    let find = async |reads| {
        let product = catalog.reading(reads).product(&category_id, &id).await?;
        product.ok_or(ApiError::NotFound("product"))
    };
    let product = confirm(find).await?;
    Ok(found(&conditions, &product.item.public(), &product.etag))
}
