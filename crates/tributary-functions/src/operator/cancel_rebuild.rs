//! `POST /projections/{name}/cancel-rebuild`.

use axum::extract::State;

use super::{
    update,
    view::{ProjectionName, ProjectionView},
};
use crate::{
    http::{ApiError, Conditions, ItemResponse, Params},
    projection::Projections,
};

/// Cancels the rebuild of a projection: its worker stops with the page that it applies. What was applied
/// stays. A projection without a rebuild stays as it is.
pub(crate) async fn cancel_rebuild(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    Ok(update::cancel_rebuild(&projections, &name, &conditions).await?.into())
}
