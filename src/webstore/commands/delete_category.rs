//! `DELETE /categories/{categoryId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    http::{ApiError, Conditions, Params},
    values::CommandId,
};

use super::label::LabelCommand;
use crate::webstore::{
    catalog::Catalog,
    model::{CategoryId, LabelKind},
};

/// Deletes a category that no product uses.
pub async fn delete_category(
    State(catalog): State<Catalog>,
    Params(id): Params<CategoryId>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    let (kind, id) = (LabelKind::Category, id.as_str());
    LabelCommand { kind, id, conditions: &conditions, command: &command }.delete(&catalog).await
}
