//! `GET /categories/{categoryId}`.

use axum::{extract::State, response::Response};

use super::label;
use crate::webstore::{
    catalog::Catalog,
    model::{CategoryId, LabelKind},
};
use tributary_functions::http::{ApiError, Conditions, Params};

/// A category: one point read.
pub async fn get_category(
    State(catalog): State<Catalog>,
    Params(id): Params<CategoryId>,
    conditions: Conditions,
) -> Result<Response, ApiError> {
    label::get(&catalog, LabelKind::Category, id.as_str(), &conditions).await
}
