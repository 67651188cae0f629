//! `POST /projections/{name}/leases/{lease}/release`.

use axum::{
    Json,
    extract::{RawQuery, State},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::view::{LeaseName, ProjectionName, find};
use crate::{
    cosmos::retry,
    http::{ApiError, Params, QueryParameter, parameter_of},
    projection::{
        Projections,
        leases::{Lease, ReleaseOutcome},
    },
    values::Timestamp,
};

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

/// Releases a lease, so that any instance acquires it at once: for an owner that is dead or stuck.
pub(crate) async fn release_lease(
    State(projections): State<Projections>,
    Params((name, lease)): Params<(ProjectionName, LeaseName)>,
    RawQuery(query): RawQuery,
) -> Result<Json<ReleasedLease>, ApiError> {
    let by_force = is_forced(query.as_deref())?;
    Ok(Json(release(&projections, &name, &lease, by_force).await?))
}

/// Releases a lease of a projection. Without force, the lease of an owner that has renewed it within the
/// expiration interval stays.
pub(super) async fn release(
    projections: &Projections,
    name: &ProjectionName,
    lease: &LeaseName,
    by_force: bool,
) -> Result<ReleasedLease, ApiError> {
    let projection = find(projections, name)?;
    let function = projection.function();
    let leases = projections.leases().of(function, projection.sources()).await?;
    let leases: Vec<Lease> = leases.into_iter().filter_map(Result::ok).collect();
    let Some(found) = leases.iter().find(|known| known.token == lease.as_str()) else {
        return Err(unknown(&leases));
    };
    let expiration = projections.lease_terms(function).expiration;
    let may_release = |lease: &Lease| by_force || !lease.is_owned(expiration, Timestamp::now());
    let release = async |_| projections.leases().release(&found.id, may_release).await;
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

/// Reads `force`, which is false by default; any text but `true` and `false` is a 400.
fn is_forced(query: Option<&str>) -> Result<bool, ApiError> {
    match parameter_of(query, "force")?.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(ApiError::invalid("force", "must be true or false")),
    }
}

fn unknown(leases: &[Lease]) -> ApiError {
    let names: Vec<&str> = leases.iter().map(|lease| lease.token.as_str()).take(100).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    ApiError::UnknownName(format!("There is no such lease. The projection has: {names}."))
}
