//! `GET /categories/{categoryId}` and `GET /tags/{tagId}`.

use axum::extract::State;
use tributary_functions::{
    cosmos::confirm,
    http::{ApiError, Conditions, ItemResponse, Params, found},
};

use crate::{
    Catalog,
    model::{LabelId, PublicLabel},
};

/// Returns a label: one point read.
pub async fn get_label<Id: LabelId>(
    State(catalog): State<Catalog>,
    Params(id): Params<Id>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    let find = async |reads| {
        let label = catalog.reading(reads).live_label(Id::KIND, id.as_ref()).await?;
        label.ok_or(ApiError::NotFound(Id::KIND.as_str()))
    };
    let label = confirm(find).await?;
    Ok(found(&conditions, &label.item.public, &label.etag))
}
