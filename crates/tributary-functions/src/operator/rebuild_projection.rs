//! `POST /projections/{name}/rebuild`.

use axum::extract::State;

use super::{
    update,
    view::{ProjectionName, ProjectionView},
};
use crate::{
    http::{ApiError, Conditions, ItemResponse, JsonBody, Params, from_form},
    projection::Projections,
    rebuild::RebuildRequest,
    values::{Invalid, Timestamp},
};

/// The body of a rebuild.
#[derive(Debug)]
pub(crate) struct RebuildProjectionRequest {
    since: Option<Timestamp>,
}

from_form!(RebuildProjectionRequest { since: optional_text("since", moment) });

#[expect(clippy::needless_pass_by_value, reason = "as a form parses")]
fn moment(text: String) -> Result<Timestamp, Invalid> {
    Timestamp::parse(&text)
}

/// Asks for a rebuild of a projection: all of its sources are applied again beside the live changes, and its
/// domain is audited with repair. With `since` only the sources that were written at this time or later are
/// applied. A timer begins within five minutes.
pub(crate) async fn rebuild_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
    JsonBody(RebuildProjectionRequest { since }): JsonBody<RebuildProjectionRequest>,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    let request = RebuildRequest::new(None, since);
    Ok(update::rebuild(&projections, &name, &conditions, &request).await?.into())
}
