//! `POST /projections/{name}/pause`.

use axum::extract::State;

use super::{
    update,
    view::{ProjectionName, ProjectionView},
};
use crate::{
    http::{ApiError, Conditions, ItemResponse, JsonBody, Params, from_form},
    projection::{Projections, control::Pause},
    values::{Timestamp, checked_text, length_rule},
};

checked_text!(
    /// The reason of a pause: 1 to 500 characters.
    PauseReason, "A bug in the copies, to be deployed at noon", length_rule(1..=500)
);

/// The body of a pause.
#[derive(Debug)]
pub(crate) struct PauseRequest {
    reason: Option<PauseReason>,
}

from_form!(PauseRequest { reason: optional_text("reason", PauseReason::parse) });

/// Pauses a projection: its batches are refused, and wait in the change feed. A paused projection stays as it
/// is.
pub(crate) async fn pause_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
    JsonBody(PauseRequest { reason }): JsonBody<PauseRequest>,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    let reason = reason.map(|reason| reason.as_str().to_owned());
    let pause = Pause { since: Timestamp::now(), by: None, reason };
    Ok(update::pause(&projections, &name, &conditions, &pause).await?.into())
}
