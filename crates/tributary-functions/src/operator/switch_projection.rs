//! `POST /projections/{name}/switch`.

use axum::extract::{RawQuery, State};

use super::{
    force::is_forced,
    switch::{SwitchRequest, switch},
    view::{ProjectionName, ProjectionView},
};
use crate::{
    http::{ApiError, Conditions, ItemResponse, Params},
    projection::{Projections, control::Generation},
};

/// Switches the readers of a projection to the copies of its successor, which were compared: all instances do so
/// at one time, some seconds later. Readers that have the successor stay.
pub async fn switch_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    RawQuery(query): RawQuery,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    let by_force = is_forced(query.as_deref())?;
    let request = SwitchRequest { to: Generation::New, by: None, by_force };
    Ok(switch(&projections, &name, &conditions, &request).await?.into())
}
