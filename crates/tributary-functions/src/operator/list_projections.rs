//! `GET /projections`.

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

use super::view::ProjectionView;
use crate::{
    http::ApiError,
    projection::{Projections, control::ProjectionStates},
};

/// All projections of the app.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProjectionList {
    /// The projections, in the order of the domains.
    pub items: Vec<ProjectionView>,
}

impl ProjectionList {
    /// Reads the states of all projections: one query.
    pub(super) async fn read(projections: &Projections) -> Result<Self, ApiError> {
        let stored = ProjectionStates::all(projections.states()).await?;
        let view = |projection| {
            let mut stored = stored.iter();
            ProjectionView::new(projection, stored.find(|state| state.id == projection.function()))
        };
        Ok(Self { items: projections.all().map(view).collect() })
    }
}

/// Lists the projections of the app with their states: one query in all partitions of a container with some
/// tens of items.
pub async fn list_projections(
    State(projections): State<Projections>,
) -> Result<Json<ProjectionList>, ApiError> {
    Ok(Json(ProjectionList::read(&projections).await?))
}
