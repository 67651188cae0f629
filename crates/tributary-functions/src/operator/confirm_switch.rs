//! `POST /projections/{name}/confirm`.

use axum::extract::State;

use super::{
    switch::confirm,
    view::{ProjectionName, ProjectionView},
};
use crate::{
    http::{ApiError, Conditions, ItemResponse, Params},
    projection::Projections,
};

/// Confirms the switch of a projection to its successor. There is no way back: the projection applies nothing any
/// more, and a timer removes its copies. A confirmed switch stays as it is.
pub async fn confirm_switch(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    Ok(confirm(&projections, &name, &conditions, None).await?.into())
}
