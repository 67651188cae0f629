//! The measurement of leases.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use futures::{
    FutureExt, StreamExt,
    future::{self, BoxFuture},
    stream,
};

use super::{Lag, MeasuredLease, ProjectionLag};
use crate::{
    cosmos::{Container, Reason, RowResult, StoreError, parts_of},
    projection::{
        AnyProjection, Projections,
        control::{ProjectionState, WaitingPositions},
        leases::{EpkRange, Lease},
    },
    telemetry,
    terminal::word,
    values::Timestamp,
};

/// The most leases that are measured at a time, with one store request each; a request has 1,000.
pub(crate) const MAX_MEASURED_LEASES: usize = 200;

const MAX_MEASURED_TIME: Duration = Duration::from_secs(15);

const CONCURRENT_LEASES: usize = 8;

impl Projections {
    pub(crate) fn lag<'a>(
        &'a self,
        projection: &'a dyn AnyProjection,
    ) -> BoxFuture<'a, Result<ProjectionLag, StoreError>> {
        Box::pin(async move {
            let leases = self.leases.of(projection.function(), projection.sources()).await?;
            let (waiting, _) = self.states.waiting_positions().await?;
            let mut measured = self.measure(vec![(projection, leases)], &waiting).await?;
            Ok(measured.pop().unwrap_or_default())
        })
    }

    pub(crate) fn lags<'a>(
        &'a self,
        waiting: &'a WaitingPositions,
    ) -> BoxFuture<'a, Result<Vec<ProjectionLag>, StoreError>> {
        Box::pin(async move {
            let triggers: Vec<_> = self
                .all()
                .map(|projection| (projection.function(), projection.sources().clone()))
                .collect();
            let leases = self.leases.of_each(&triggers).await?;
            self.measure(self.all().zip(leases).collect(), waiting).await
        })
    }

    async fn measure(
        &self,
        leases: Vec<(&dyn AnyProjection, Vec<RowResult<Lease>>)>,
        waiting: &WaitingPositions,
    ) -> Result<Vec<ProjectionLag>, StoreError> {
        let mut physical = BTreeMap::new();
        for (projection, leases) in &leases {
            let container = projection.sources();
            if !leases.is_empty() && !physical.contains_key(container.id()) {
                physical.insert(container.id(), container.physical_ranges().await?);
            }
        }
        let lags = measure_each(&leases, &physical).await;
        let measured = leases.into_iter().map(|(_, rows)| {
            let unreadable = rows.iter().filter(|row| row.is_err()).count();
            let leases = rows.into_iter().flatten().map(|lease| MeasuredLease {
                lag: lags.get(&lease.id).copied(),
                unmoved_since: waiting.since(&lease),
                lease,
            });
            ProjectionLag { leases: leases.collect(), unreadable }
        });
        Ok(measured.collect())
    }
}

/// Each projection has its share of the limit.
async fn measure_each(
    leases: &[(&dyn AnyProjection, Vec<RowResult<Lease>>)],
    physical: &BTreeMap<&'static str, Vec<EpkRange>>,
) -> HashMap<String, Lag> {
    let share = MAX_MEASURED_LEASES / leases.len().max(1);
    let selected = leases.iter().flat_map(|(projection, leases)| {
        let readable = leases.iter().filter_map(|lease| lease.as_ref().ok());
        readable.take(share.max(1)).map(|lease| (projection.sources(), lease))
    });
    let measured: Vec<BoxFuture<'_, Option<(String, Lag)>>> = selected
        .take(MAX_MEASURED_LEASES)
        .map(|(container, lease)| {
            measure_lease(container, lease, physical.get(container.id())).boxed()
        })
        .collect();
    stream::iter(measured)
        .buffer_unordered(CONCURRENT_LEASES)
        .take_until(tokio::time::sleep(MAX_MEASURED_TIME))
        .filter_map(future::ready)
        .collect()
        .await
}

async fn measure_lease(
    container: &Container,
    lease: &Lease,
    physical: Option<&Vec<EpkRange>>,
) -> Option<(String, Lag)> {
    let parts = parts_of(lease.range.as_ref()?, physical?);
    let mut sum = None;
    for part in &parts {
        match container.feed_head(part, lease.continuation.as_deref()).await {
            Ok(head) => sum = Some(Lag::from(&head).and(sum.unwrap_or_default())),
            Err(error) => {
                let lease = &lease.token;
                tracing::info!(container = container.id(), lease, %error, "A lease was not measured");
                return None;
            }
        }
    }
    Some((lease.id.clone(), sum?))
}

/// Reports the lags in the log and the metrics, and stores the positions at which changes wait for the next run.
pub(crate) async fn measure_lag(
    projections: &Projections,
    states: &HashMap<String, ProjectionState>,
) -> Result<(), StoreError> {
    let (waiting, etag) = projections.states.waiting_positions().await?;
    let lags = projections.lags(&waiting).await?;
    let now = Timestamp::now();
    let is_waiting = |lag: Lag| lag.changes > 0;
    let leases = lags.iter().flat_map(|lag| &lag.leases);
    let next =
        waiting.after(leases.map(|measured| (&measured.lease, measured.lag.map(is_waiting))), now);
    if next != waiting {
        match projections.states.put_waiting_positions(&next, etag.as_ref()).await {
            // Another run has written its own. In an account without the container no look is kept.
            Err(error) if error.is_race() || matches!(error.reason, Reason::NoContainer(_)) => {}
            stored => stored?,
        }
    }
    for (projection, lag) in projections.all().zip(&lags) {
        let function = projection.function();
        let is_paused = states.get(function).is_some_and(|state| state.pause.is_some());
        report(projections, function, lag, is_paused, now);
    }
    Ok(())
}

fn report(
    projections: &Projections,
    function: &'static str,
    lag: &ProjectionLag,
    is_paused: bool,
    now: Timestamp,
) {
    let terms = projections.lease_terms(function);
    for measured in &lag.leases {
        let status = measured.status(terms, is_paused, now);
        if let Some(advice) = status.advice() {
            let status = word(&status);
            let lease = &measured.lease.token;
            let waiting_s = measured.lag.unwrap_or_default().seconds(now);
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
    telemetry::projection_lag(function, lag.changes, lag.seconds, lag.stopped_leases);
}
