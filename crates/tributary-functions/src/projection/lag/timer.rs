//! The part of the timer that measures the lag of all projections.

use std::collections::HashMap;

use super::{LagSummary, LeaseStatus, MeasuredLease, ProjectionLag};
use crate::{
    cosmos::{Reason, RowResult, StoreError},
    projection::{
        Projections,
        control::{ProjectionState, ProjectionStatus},
        leases::Lease,
    },
    telemetry::{self, LagMetrics},
    values::Timestamp,
};

/// Measures the lag of all projections, whose states are given, and reports it as a log line and metrics for
/// each, with a line for each lease that has stopped. The positions at which changes wait are stored for the
/// next run.
pub(crate) async fn measure_lag(
    projections: &Projections,
    states: &HashMap<String, RowResult<ProjectionState>>,
) -> Result<(), StoreError> {
    let (waiting, etag) = projections.states().waiting_positions().await?;
    let lags = projections.lags(&waiting).await?;
    let now = Timestamp::now();
    let next = waiting.after(lags.iter().flat_map(|lag| &lag.leases).map(is_waiting), now);
    if next != waiting {
        match projections.states().put_waiting_positions(&next, etag.as_ref()).await {
            // Another run has written its own. In an account without the container no look is kept.
            Err(error) if error.is_race() || matches!(error.reason, Reason::NoContainer(_)) => {}
            stored => stored?,
        }
    }
    for (projection, lag) in projections.all().zip(&lags) {
        let function = projection.function();
        let is_paused = ProjectionStatus::from(states.get(function)).refuses_batches();
        report(projections, function, lag, is_paused, now);
    }
    Ok(())
}

/// Returns a lease, and true if changes wait for it; none if that is unknown.
fn is_waiting(one: &MeasuredLease) -> (&Lease, Option<bool>) {
    (&one.lease, one.lag.map(|lag| lag.changes > 0))
}

fn report(
    projections: &Projections,
    function: &'static str,
    lag: &ProjectionLag,
    is_paused: bool,
    now: Timestamp,
) {
    let terms = projections.lease_terms(function);
    for one in &lag.leases {
        let status = one.status(terms, is_paused, now);
        if let Some(advice) = status.advice() {
            let status = LeaseStatus::as_str(status);
            let lease = &one.lease.token;
            let waiting_s = one.lag.unwrap_or_default().seconds(now);
            tracing::warn!(
                projection = function,
                lease,
                status,
                waiting_s,
                "A lease has stopped. {advice}"
            );
        }
    }
    let lag = lag.summary(terms, is_paused, now);
    tracing::info!(
        projection = function,
        is_paused,
        waiting_changes = lag.changes,
        waiting_s = lag.seconds,
        leases = lag.leases,
        stopped_leases = lag.stopped_leases,
        unmeasured_leases = lag.unmeasured_leases,
        "Measured the lag of a projection"
    );
    let LagSummary { changes, seconds, stopped_leases: stopped, .. } = lag;
    telemetry::projection_lag(function, LagMetrics { changes, seconds, stopped });
}
