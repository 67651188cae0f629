//! `DELETE /tags/{tagId}`.

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    http::{ApiError, Conditions, Params},
    values::CommandId,
};

use super::label::LabelCommand;
use crate::webstore::{
    catalog::Catalog,
    model::{LabelKind, TagId},
};

/// Deletes a tag that no product uses.
pub async fn delete_tag(
    State(catalog): State<Catalog>,
    Params(id): Params<TagId>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    let (kind, id) = (LabelKind::Tag, id.as_str());
    LabelCommand { kind, id, conditions: &conditions, command: &command }.delete(&catalog).await
}
