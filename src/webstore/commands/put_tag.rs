//! `PUT /tags/{tagId}`.

use axum::extract::State;
use tributary_functions::{
    http::{ApiError, Conditions, ItemResponse, JsonBody, Params},
    values::CommandId,
};

use super::label::{LabelCommand, LabelName};
use crate::webstore::{
    catalog::Catalog,
    model::{LabelKind, PublicLabel, TagId},
};

/// Creates a tag or renames one. The change feed brings a new name to the products.
pub async fn put_tag(
    State(catalog): State<Catalog>,
    Params(id): Params<TagId>,
    conditions: Conditions,
    command: CommandId,
    JsonBody(LabelName(name)): JsonBody<LabelName>,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    let (kind, id) = (LabelKind::Tag, id.as_str());
    LabelCommand { kind, id, conditions: &conditions, command: &command }.put(&catalog, &name).await
}
