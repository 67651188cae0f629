//! `GET /projections/{name}`.

use axum::{Json, extract::State};

use super::view::{ProjectionName, ProjectionView, find};
use crate::{
    cosmos::Stored,
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
    let stored = projections.states().read(projection.function()).await?;
    Ok(match stored {
        Some(Stored { item, etag }) => {
            found(&conditions, &ProjectionView::new(projection, item.pause), &etag)
        }
        None => Json(ProjectionView::new(projection, None)).into(),
    })
}
