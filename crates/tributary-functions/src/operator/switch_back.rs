//! `POST /projections/{name}/switch-back`.

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

/// Switches the readers of a projection back from its successor, until the switch is confirmed. Readers that have
/// the projection stay.
pub async fn switch_back(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    RawQuery(query): RawQuery,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    let by_force = is_forced(query.as_deref())?;
    let request = SwitchRequest { to: Generation::Old, by: None, by_force };
    Ok(switch(&projections, &name, &conditions, &request).await?.into())
}
