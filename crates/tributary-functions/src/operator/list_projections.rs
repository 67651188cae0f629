//! `GET /projections`.

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

use super::{view::ProjectionView, with_lag::measured};
use crate::{
    http::ApiError,
    projection::{AnyProjection, Projections, control::ProjectionState},
};

/// All projections of the app.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectionList {
    /// The projections, in the order of the domains.
    pub items: Vec<ProjectionView>,
}

impl ProjectionList {
    /// Reads the states of all projections by one query, and measures their lags.
    pub(super) async fn read(projections: &Projections) -> Result<Self, ApiError> {
        let mut states = projections.states().all().await?;
        let lags = async {
            let (waiting, _) = projections.states().waiting_positions().await?;
            projections.lags(&waiting).await
        };
        let mut lags = measured(lags.await).into_iter().flatten();
        let view = |projection: &dyn AnyProjection| {
            let state = states.remove(projection.function());
            let state =
                state.unwrap_or_else(|| Ok(ProjectionState::running(projection.function())));
            let view = match state {
                Ok(state) => ProjectionView::new(projections, projection, state),
                Err(_) => ProjectionView::unreadable(projection),
            };
            view.with_lag(projections, lags.next().as_ref())
        };
        Ok(Self { items: projections.all().map(view).collect() })
    }
}

/// Lists the projections of the app with their states and lags: one query in all partitions of a container with
/// some tens of items, and a measurement of at most 200 leases ([`lag`](crate::projection::lag)).
pub(crate) async fn list_projections(
    State(projections): State<Projections>,
) -> Result<Json<ProjectionList>, ApiError> {
    Ok(Json(ProjectionList::read(&projections).await?))
}
