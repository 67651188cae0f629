//! `GET /projections/{name}`.

use axum::{Json, extract::State};

use super::{
    view::{ProjectionName, ProjectionView},
    with_lag::read,
};
use crate::{
    http::{ApiError, Conditions, ItemResponse, Params, found},
    projection::Projections,
};

/// Returns a projection with its state, its lag and its leases: a point read, and a measurement
/// ([`lag`](crate::projection::lag)). The ETag is that of the state, and does not change with the lag.
pub(crate) async fn get_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    let (view, etag) = read(&projections, &name).await?;
    Ok(match etag {
        Some(etag) => found(&conditions, &view, &etag),
        None => Json(view).into(),
    })
}
