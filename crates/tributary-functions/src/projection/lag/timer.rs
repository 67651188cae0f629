//! The timer that measures the lag of all projections.

use super::{LeaseStatus, MeasuredLease, ProjectionLag};
use crate::{
    cosmos::{Reason, StoreError},
    projection::{Projections, leases::Lease},
    telemetry::{self, LagMetrics},
    values::Timestamp,
};

/// Measures the lag of all projections, and reports it as a log line and metrics for each, with a line for each
/// lease that has stopped. The positions at which changes wait are stored for the next run.
pub async fn measure_lag(projections: &Projections) -> Result<(), StoreError> {
    let states = projections.states();
    let paused = states.all().await?;
    let lags = projections.lags().await?;
    let now = Timestamp::now();
    let (seen, etag) = states.waiting_positions().await?;
    let next = seen.after(lags.iter().flat_map(|lag| &lag.leases).map(waiting), now);
    if next != seen {
        match states.put_waiting_positions(&next, etag.as_ref()).await {
            // Another run has written its own. In an account without the container no look is kept.
            Err(error) if error.is_race() || matches!(error.reason, Reason::NoContainer(_)) => {}
            stored => stored?,
        }
    }
    for (projection, lag) in projections.all().zip(&lags) {
        let function = projection.function();
        let is_paused = match paused.get(function) {
            Some(Ok(state)) => state.pause.is_some(),
            Some(Err(_)) => true,
            None => false,
        };
        report(projections, function, lag, is_paused, now);
    }
    Ok(())
}

/// Returns a lease, and true if changes wait for it; none if that is unknown.
fn waiting(one: &MeasuredLease) -> (&Lease, Option<bool>) {
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
    let worst = lag.worst().unwrap_or_default();
    let stopped = lag.stopped(terms, is_paused, now);
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
    tracing::info!(
        projection = function,
        is_paused,
        waiting_changes = worst.changes,
        waiting_s = worst.seconds(now),
        leases = lag.leases.len(),
        stopped_leases = stopped,
        unmeasured_leases = lag.unmeasured(),
        "Measured the lag of a projection"
    );
    telemetry::projection_lag(
        function,
        LagMetrics { changes: worst.changes, seconds: worst.seconds(now), stopped },
    );
}
