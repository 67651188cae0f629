//! A projection as operators see it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    http::ApiError,
    projection::{AnyProjection, Projections, control::Pause},
    values::{checked_text, id_rule},
};

checked_text!(
    /// The name of a projection, which is that of its function.
    ProjectionName, "CopyRooms", id_rule
);

/// The status of a projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProjectionStatus {
    /// It applies each batch.
    Running,
    /// It refuses each batch.
    Paused,
    /// Its state cannot be read, so it refuses each batch: delete its item in the container `projections`.
    Unreadable,
}

impl ProjectionStatus {
    /// Returns the status as a word, as JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A projection with its state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Projection")]
pub struct ProjectionView {
    /// The function's name.
    #[schemars(with = "ProjectionName")]
    pub name: &'static str,
    /// The container whose change feed is read.
    #[schemars(example = &"rooms")]
    pub container: &'static str,
    /// The status.
    pub status: ProjectionStatus,
    /// The pause; none while the projection runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

impl ProjectionView {
    /// Returns a projection that is paused, or runs.
    pub fn new(projection: &dyn AnyProjection, pause: Option<Pause>) -> Self {
        let status =
            if pause.is_some() { ProjectionStatus::Paused } else { ProjectionStatus::Running };
        Self { name: projection.function(), container: projection.container_id(), status, pause }
    }

    /// Returns a projection whose state cannot be read.
    pub fn unreadable(projection: &dyn AnyProjection) -> Self {
        Self { status: ProjectionStatus::Unreadable, ..Self::new(projection, None) }
    }
}

/// Returns the projection with this name; without one, a 404 that lists the names.
pub(super) fn find<'a>(
    projections: &'a Projections,
    name: &ProjectionName,
) -> Result<&'a dyn AnyProjection, ApiError> {
    projections.by_function(name.as_str()).ok_or_else(|| {
        let names: Vec<&str> = projections.all().map(AnyProjection::function).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        ApiError::UnknownName(format!("There is no such projection. The app has: {names}."))
    })
}
