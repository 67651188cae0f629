//! The changes of a projection's state, by a request or a command: each is decided on the latest committed
//! state, and written under its ETag.

use axum::{
    Json,
    extract::{RawQuery, State},
    http::StatusCode,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::view::{LeaseName, ProjectionName, ProjectionView, find, listed};
use crate::{
    cosmos::{ETag, retry},
    http::{
        ApiError, Conditions, ItemResponse, JsonBody, Params, QueryParameter, check_confirmed,
        from_form, item, parameter_of,
    },
    projection::{
        Projections,
        control::{Pause, ProjectionState, Rebuild},
        leases::{Lease, ReleaseOutcome},
    },
    rebuild::request_rebuild,
    values::{Timestamp, checked_text, length_rule},
};

pub(crate) enum StateChange {
    Pause(Pause),
    Resume,
    Rebuild(Rebuild),
    CancelRebuild,
}

impl StateChange {
    fn decide(&self, state: &ProjectionState) -> Result<Option<ProjectionState>, ApiError> {
        let now = Timestamp::now();
        Ok(match self {
            Self::Pause(pause) => state.paused(pause.clone()),
            Self::Resume => state.resumed(now),
            Self::Rebuild(request) => request_rebuild(request, state)?,
            Self::CancelRebuild => {
                let cancelled = state.rebuild.as_ref().and_then(|rebuild| rebuild.cancelled(now));
                cancelled.map(|rebuild| state.with_rebuild(rebuild))
            }
        })
    }

    fn log(&self, projection: &str) {
        let (message, by) = match self {
            Self::Pause(pause) => ("Paused a projection", pause.by.as_deref()),
            Self::Resume => ("Resumed a projection", None),
            Self::Rebuild(_) => ("A rebuild was asked for", None),
            Self::CancelRebuild => ("Cancelled a rebuild", None),
        };
        tracing::info!(projection, by, "{message}");
    }
}

fn answer((view, etag): (ProjectionView, Option<ETag>)) -> ItemResponse<ProjectionView> {
    match etag {
        Some(etag) => item(StatusCode::OK, &view, &etag),
        None => Json(view).into(),
    }
}

checked_text!(
    /// The reason of a pause: 1 to 500 characters.
    PauseReason, "A bug in the copies, to be deployed at noon", length_rule(1..=500)
);

#[derive(Debug)]
pub(crate) struct PauseRequest {
    reason: Option<PauseReason>,
}

from_form!(PauseRequest { reason: optional_text("reason", PauseReason::parse) });

pub(crate) async fn pause_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
    JsonBody(PauseRequest { reason }): JsonBody<PauseRequest>,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    let reason = reason.map(|reason| reason.as_str().to_owned());
    let pause = StateChange::Pause(Pause { since: Timestamp::now(), by: None, reason });
    Ok(answer(update(&projections, &name, &conditions, &pause).await?))
}

pub(crate) async fn resume_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    Ok(answer(update(&projections, &name, &conditions, &StateChange::Resume).await?))
}

#[derive(Debug)]
pub(crate) struct RebuildProjectionRequest {
    since: Option<Timestamp>,
}

from_form!(RebuildProjectionRequest {
    since: optional_text("since", |text| Timestamp::parse(&text))
});

pub(crate) async fn rebuild_projection(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
    JsonBody(RebuildProjectionRequest { since }): JsonBody<RebuildProjectionRequest>,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    let rebuild = StateChange::Rebuild(Rebuild::new(None, since));
    Ok(answer(update(&projections, &name, &conditions, &rebuild).await?))
}

pub(crate) async fn cancel_rebuild(
    State(projections): State<Projections>,
    Params(name): Params<ProjectionName>,
    conditions: Conditions,
) -> Result<ItemResponse<ProjectionView>, ApiError> {
    Ok(answer(update(&projections, &name, &conditions, &StateChange::CancelRebuild).await?))
}

pub(super) async fn update(
    projections: &Projections,
    name: &ProjectionName,
    conditions: &Conditions,
    change: &StateChange,
) -> Result<(ProjectionView, Option<ETag>), ApiError> {
    let projection = find(projections, name)?;
    let function = projection.function();
    let attempt = async |_| {
        let states = &projections.states;
        let (state, etag) = states.read(function).await?;
        conditions.check(etag.as_ref())?;
        let Some(next) = change.decide(&state)? else {
            check_confirmed()?;
            return Ok((state, etag, false));
        };
        let etag = states.put(&next, etag.as_ref()).await?;
        Ok::<_, ApiError>((next, Some(etag), true))
    };
    let (state, etag, is_changed) = retry(attempt).await?;
    if is_changed {
        change.log(function);
    }
    Ok((ProjectionView::new(projections, projection, state), etag))
}

pub(crate) const FORCE: [QueryParameter; 1] = [QueryParameter::new(
    "force",
    "`true` releases the lease of an owner that renews it. The default is `false`.",
)];

/// A lease after its release.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReleasedLease {
    /// The name of the lease.
    #[schemars(with = "LeaseName")]
    pub lease: String,
    /// The owner until now; none if it had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former_owner: Option<String>,
}

pub(crate) async fn release_lease(
    State(projections): State<Projections>,
    Params((name, lease)): Params<(ProjectionName, LeaseName)>,
    RawQuery(query): RawQuery,
) -> Result<Json<ReleasedLease>, ApiError> {
    let by_force = match parameter_of(query.as_deref(), "force")?.as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(ApiError::invalid("force", "must be true or false")),
    };
    Ok(Json(release(&projections, &name, &lease, by_force).await?))
}

/// Without force, the lease of an owner that has renewed it within the expiration interval stays.
pub(super) async fn release(
    projections: &Projections,
    name: &ProjectionName,
    lease: &LeaseName,
    by_force: bool,
) -> Result<ReleasedLease, ApiError> {
    let projection = find(projections, name)?;
    let function = projection.function();
    let leases = projections.leases.of(function, projection.sources()).await?;
    let leases: Vec<Lease> = leases.into_iter().filter_map(Result::ok).collect();
    let Some(found) = leases.iter().find(|known| known.token == lease.as_str()) else {
        return Err(unknown(&leases));
    };
    let expiration = projections.lease_terms(function).expiration;
    let may_release = |lease: &Lease| by_force || !lease.is_owned(expiration, Timestamp::now());
    let release = async |_| projections.leases.release(&found.id, may_release).await;
    match retry(release).await? {
        ReleaseOutcome::Released(former_owner) => {
            tracing::warn!(
                projection = function,
                lease = lease.as_str(),
                by_force,
                "Released a lease"
            );
            Ok(ReleasedLease { lease: found.token.clone(), former_owner })
        }
        ReleaseOutcome::Owned => Err(ApiError::Conflict(
            "The owner of this lease renews it. Stop the owner and wait until the lease expires, or \
             release the lease by force.",
        )),
        ReleaseOutcome::Gone => Err(unknown(&[])),
    }
}

fn unknown(leases: &[Lease]) -> ApiError {
    let names = listed(leases.iter().map(|lease| lease.token.as_str()).take(100));
    ApiError::UnknownName(format!("There is no such lease. The projection has: {names}."))
}
