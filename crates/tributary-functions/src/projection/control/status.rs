//! The status of a projection: what its state says.

use schemars::JsonSchema;
use serde::Serialize;

use super::ProjectionState;
use crate::cosmos::RowResult;

/// The status of a projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ProjectionStatus {
    /// It applies each batch.
    Running,
    /// It refuses each batch.
    Paused,
    /// It applies each batch, and its sources again.
    Rebuilding,
    /// Its state cannot be read, so it refuses each batch: delete its item in the container `projections`.
    Unreadable,
}

impl ProjectionStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Rebuilding => "rebuilding",
            Self::Unreadable => "unreadable",
        }
    }

    /// Returns true if the changes of the projection wait since its state says so.
    pub(crate) fn refuses_batches(self) -> bool {
        matches!(self, Self::Paused | Self::Unreadable)
    }
}

impl From<Option<&RowResult<ProjectionState>>> for ProjectionStatus {
    fn from(row: Option<&RowResult<ProjectionState>>) -> Self {
        match row {
            None => Self::Running,
            Some(Ok(state)) => state.status(),
            Some(Err(_)) => Self::Unreadable,
        }
    }
}

impl ProjectionState {
    pub(crate) fn status(&self) -> ProjectionStatus {
        if self.pause.is_some() {
            ProjectionStatus::Paused
        } else if self.rebuild_under_way().is_some() {
            ProjectionStatus::Rebuilding
        } else {
            ProjectionStatus::Running
        }
    }
}
