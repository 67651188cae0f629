//! `GET /categories/{categoryId}`.

use axum::extract::State;

use super::label;
use crate::webstore::{
    catalog::Catalog,
    model::{CategoryId, LabelKind, PublicLabel},
};
use tributary_functions::http::{ApiError, Conditions, ItemResponse, Params};

/// A category: one point read.
pub async fn get_category(
    State(catalog): State<Catalog>,
    Params(id): Params<CategoryId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    label::get(&catalog, LabelKind::Category, id.as_str(), &conditions).await
}
