//! A projection as operators see it.

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cosmos::{ETag, StoreError},
    http::{ApiError, Conditions, ItemResponse, Params, found},
    projection::{
        AnyProjection, Projections,
        control::{
            Pause, ProjectionState, ProjectionStatus, Rebuild, RebuildProgress, RebuildStep,
        },
        lag::{LagSummary, LeaseStatus, MAX_MEASURED_LEASES, MeasuredLease, ProjectionLag},
        leases::LeaseTerms,
    },
    values::{Timestamp, checked_text, id_rule, length_rule},
};

checked_text!(
    /// The name of a projection, which is that of its function.
    ProjectionName, "CopyRooms", id_rule
);

/// A projection with its state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Projection")]
pub(crate) struct ProjectionView {
    /// The function's name.
    #[schemars(with = "ProjectionName")]
    pub name: &'static str,
    /// The container whose change feed is read.
    #[schemars(example = &"rooms")]
    pub container: &'static str,
    /// The status.
    pub status: ProjectionStatus,
    /// True if instances apply it to the changes of their own commands, too.
    pub eager: bool,
    /// The pause; none while the projection runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The last rebuild; none before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<RebuildView>,
    /// The lag; none if the leases could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<LagSummary>,
    /// The leases, of one projection only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leases: Option<Vec<LeaseView>>,
}

/// A rebuild of a projection.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Rebuild")]
pub(crate) struct RebuildView {
    /// The step that it is in, or its end.
    pub step: RebuildStepName,
    /// The time at which it was asked for.
    pub requested_at: Timestamp,
    /// The user of the command; none of a request.
    #[schemars(example = &"ann")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// A rewind: only the sources that were written at this time or later are applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The time of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// True while a worker is at it. Otherwise the timer goes on within five minutes.
    pub has_worker: bool,
    /// The work so far.
    pub progress: RebuildProgress,
    /// The items that are read a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_per_second: Option<f64>,
    /// The time until all items are read, in seconds, without the pauses between runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
}

/// The step of a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RebuildStepName {
    /// The sources are applied again.
    Sources,
    /// The domain is audited, and what differs is repaired.
    Audit,
    /// It has ended.
    Done,
    /// An operator has cancelled it.
    Cancelled,
    /// A step began again three times, since the store refused its position.
    Failed,
}

impl RebuildView {
    pub(super) fn new(rebuild: &Rebuild) -> Self {
        let (step, ended_at) = match rebuild.step {
            RebuildStep::Sources { .. } => (RebuildStepName::Sources, None),
            RebuildStep::Audit { .. } => (RebuildStepName::Audit, None),
            RebuildStep::Done { ended_at } => (RebuildStepName::Done, Some(ended_at)),
            RebuildStep::Cancelled { ended_at } => (RebuildStepName::Cancelled, Some(ended_at)),
            RebuildStep::Failed { ended_at } => (RebuildStepName::Failed, Some(ended_at)),
        };
        let is_reading = step == RebuildStepName::Sources;
        let time_left = rebuild.progress.time_to_read().filter(|_| is_reading);
        Self {
            step,
            requested_at: rebuild.requested_at,
            by: rebuild.by.clone(),
            since: rebuild.since,
            ended_at,
            has_worker: rebuild.worker_at(Timestamp::now()).is_some(),
            progress: rebuild.progress,
            items_per_second: rebuild.progress.items_per_second(),
            seconds_left: time_left.map(|time| time.as_secs()),
        }
    }

    pub(super) fn in_words(&self) -> String {
        let RebuildProgress {
            items,
            read,
            applied,
            dead_letters,
            restarts,
            audited,
            findings,
            repaired,
            ..
        } = self.progress;
        match self.step {
            RebuildStepName::Sources => {
                let of = items.map(|items| format!(" of {items}")).unwrap_or_default();
                let rate = self.items_per_second.map(|rate| format!(", {rate:.0} a second"));
                let left = self.seconds_left.map(|seconds| format!(", {seconds} s to go"));
                let [rate, left] = [rate, left].map(Option::unwrap_or_default);
                format!("{read}{of} items read{rate}{left}")
            }
            RebuildStepName::Audit => {
                format!("{audited} items audited, {findings} findings, {repaired} repaired")
            }
            RebuildStepName::Done => {
                format!(
                    "{read} items read, {applied} applied, {dead_letters} dead letters, \
                     {findings} findings, {repaired} repaired"
                )
            }
            RebuildStepName::Cancelled => format!("cancelled after {read} items"),
            RebuildStepName::Failed => {
                format!("failed after {read} items: a step began again {restarts} times")
            }
        }
    }
}

impl ProjectionView {
    pub(crate) fn new(
        projections: &Projections,
        projection: &dyn AnyProjection,
        state: ProjectionState,
    ) -> Self {
        let name = projection.function();
        let status = state.status();
        let rebuild = state.rebuild.as_ref().map(RebuildView::new);
        Self {
            name,
            container: projection.container_id(),
            status,
            eager: projections.is_eager(name),
            pause: state.pause,
            rebuild,
            lag: None,
            leases: None,
        }
    }
}

pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

pub(super) fn find<'a>(
    projections: &'a Projections,
    name: &ProjectionName,
) -> Result<&'a dyn AnyProjection, ApiError> {
    projections.by_function(name.as_str()).ok_or_else(|| {
        let names = listed(projections.all().map(AnyProjection::function));
        ApiError::UnknownName(format!("There is no such projection. The app has: {names}."))
    })
}

/// The ETag is that of the state, and does not change with the lag.
pub(crate) async fn get_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    let (view, etag) = read(&projections, &name).await?;
    Ok(match etag {
        Some(etag) => found(&conditions, &view, &etag),
        None => Json(view).into(),
    })
}

/// All projections of the app.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectionList {
    /// The projections, in the order of the domains.
    pub items: Vec<ProjectionView>,
}

impl ProjectionList {
    pub(super) async fn read(projections: &Projections) -> Result<Self, ApiError> {
        let mut states = projections.states.all().await?;
        let lags = async {
            let (waiting, _) = projections.states.waiting_positions().await?;
            projections.lags(&waiting).await
        };
        let mut lags = measured(lags.await).into_iter().flatten();
        let view = |projection: &dyn AnyProjection| {
            let name = projection.function();
            let state = states.remove(name).unwrap_or_else(|| ProjectionState::running(name));
            let view = ProjectionView::new(projections, projection, state);
            view.with_lag(projections, lags.next().as_ref())
        };
        Ok(Self { items: projections.all().map(view).collect() })
    }
}

pub(crate) async fn list_projections(
    State(projections): State<Projections>,
) -> Result<Json<ProjectionList>, ApiError> {
    Ok(Json(ProjectionList::read(&projections).await?))
}

pub(super) async fn read(
    projections: &Projections,
    name: &ProjectionName,
) -> Result<(ProjectionView, Option<ETag>), ApiError> {
    let projection = find(projections, name)?;
    let (state, etag) = projections.states.read(projection.function()).await?;
    let lag = measured(projections.lag(projection).await);
    let view = ProjectionView::new(projections, projection, state);
    Ok((view.with_leases(projections, lag.as_ref()), etag))
}

impl ProjectionView {
    pub(super) fn with_lag(self, projections: &Projections, lag: Option<&ProjectionLag>) -> Self {
        let terms = projections.lease_terms(self.name);
        let is_paused = self.pause.is_some();
        let summary = |lag: &ProjectionLag| lag.summary(terms, is_paused, Timestamp::now());
        Self { lag: lag.map(summary), ..self }
    }

    pub(super) fn with_leases(
        self,
        projections: &Projections,
        lag: Option<&ProjectionLag>,
    ) -> Self {
        let terms = projections.lease_terms(self.name);
        let is_paused = self.pause.is_some();
        let view = |measured| LeaseView::new(measured, terms, is_paused);
        let leases = lag.map(|lag| lag.leases.iter().take(MAX_MEASURED_LEASES).map(view).collect());
        Self { leases, ..self.with_lag(projections, lag) }
    }
}

pub(super) fn measured<T>(lag: Result<T, StoreError>) -> Option<T> {
    lag.inspect_err(|error| tracing::warn!(%error, "The lag could not be measured")).ok()
}

checked_text!(
    /// The name of a lease: the id of its physical partition, or its range of hashed keys, such as `-1F`
    /// and `1F-3F` after partitions were merged.
    LeaseName, "0", length_rule(1..=1_024)
);

/// A lease of a projection with its lag.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Lease")]
pub(crate) struct LeaseView {
    /// The name.
    #[schemars(with = "LeaseName")]
    pub lease: String,
    /// The status.
    pub status: LeaseStatus,
    /// The number of changes that wait; none if it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<u64>,
    /// The age of the oldest of them in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// The instance that reads the partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The last checkpoint or renewal.
    pub written_at: Timestamp,
    /// The log sequence number of the last acknowledged change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// What is wrong with a stopped lease, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'static str>,
}

impl LeaseView {
    pub(crate) fn new(measured: &MeasuredLease, terms: LeaseTerms, is_paused: bool) -> Self {
        let now = Timestamp::now();
        let status = measured.status(terms, is_paused, now);
        let MeasuredLease { lease, lag, .. } = measured;
        Self {
            lease: lease.token.clone(),
            status,
            changes: lag.map(|lag| lag.changes),
            seconds: lag.map(|lag| lag.seconds(now)),
            owner: lease.owner.clone(),
            written_at: lease.written_at,
            position: lease.lsn(),
            advice: status.advice(),
        }
    }
}
