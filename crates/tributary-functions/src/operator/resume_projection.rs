//! `POST /projections/{name}/resume`.

use axum::extract::State;

use super::{
    update,
    view::{ProjectionName, ProjectionView},
};
use crate::{
    http::{ApiError, Conditions, ItemResponse, Params},
    projection::Projections,
};

/// Resumes a projection. The host delivers its batches again at the next attempt, within a minute. A running
/// projection stays as it is.
pub(crate) async fn resume_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    Ok(update::resume(&projections, &name, &conditions).await?.into())
}
