//! `GET /projections/{name}`.

use axum::{Json, extract::State};

use super::view::{ProjectionName, ProjectionView, find};
use crate::{
    http::{ApiError, Conditions, ItemResponse, Params, found},
    projection::Projections,
};

/// Returns a projection with its state: one point read.
pub async fn get_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    let projection = find(&projections, &name)?;
    let (state, etag) = projections.states().read(projection.function()).await?;
    let view = ProjectionView::new(projection, state);
    Ok(match etag {
        Some(etag) => found(&conditions, &view, &etag),
        None => Json(view).into(),
    })
}
