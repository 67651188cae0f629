//! `GET /tags/{tagId}`.

use axum::extract::State;

use super::label;
use crate::webstore::{
    catalog::Catalog,
    model::{LabelKind, PublicLabel, TagId},
};
use tributary_functions::http::{ApiError, Conditions, ItemResponse, Params};

/// A tag: one point read.
pub async fn get_tag(
    State(catalog): State<Catalog>,
    Params(id): Params<TagId>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    label::get(&catalog, LabelKind::Tag, id.as_str(), &conditions).await
}
