//! `GET /costs`.

use axum::{
    Json,
    extract::{RawQuery, State},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    http::{ApiError, QueryParameter, parameter_of},
    projection::{AnyProjection, Projections},
    telemetry::{WorkRecord, recent_work},
};

pub(crate) const AFTER: [QueryParameter; 1] =
    [QueryParameter::new("after", "The `last` of an earlier answer: only later records.")
        .example("0")];

/// The recent requests and batches of an instance, with their costs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecentCosts {
    /// True if the instance keeps records: the setting `Costs__Recent`.
    pub is_recording: bool,
    /// The instance that answers. Its numbers mean nothing to another one. Empty where nothing is recorded.
    #[schemars(example = &"0198b7c2-7d1e-7a40-9d0c-5b2a1f3e6d78")]
    pub instance: String,
    /// The number for `after`.
    pub last: u64,
    /// The records, the oldest first; the last 300 are kept.
    pub items: Vec<WorkRecord>,
    /// The projections of the app: a write has reached all copies when each of its container has read it.
    pub projections: Vec<ProjectionSource>,
}

/// A projection, and what it reads.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProjectionSource")]
pub(crate) struct ProjectionSource {
    /// The function's name.
    #[schemars(example = &"CopyRooms")]
    pub name: &'static str,
    /// The container whose change feed is read.
    #[schemars(example = &"rooms")]
    pub container: &'static str,
}

pub(crate) async fn list_costs(
    State(projections): State<Projections>,
    RawQuery(query): RawQuery,
) -> Result<Json<RecentCosts>, ApiError> {
    let after = match parameter_of(query.as_deref(), "after")? {
        None => 0,
        Some(text) => {
            text.parse().map_err(|_| ApiError::invalid("after", "must be a whole number"))?
        }
    };
    let recent = recent_work(after);
    let is_recording = recent.is_some();
    let (instance, last, items) = recent.unwrap_or_default();
    let source = |projection: &dyn AnyProjection| ProjectionSource {
        name: projection.function(),
        container: projection.container_id(),
    };
    let projections = projections.all().map(source).collect();
    Ok(Json(RecentCosts { is_recording, instance, last, items, projections }))
}
