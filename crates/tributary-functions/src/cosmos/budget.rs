//! The budget of work: the store requests, the request units and the time that it may use.
//!
//! | work | ends at its budget |
//! | --- | --- |
//! | a page of a list | early, with a cursor ([`Budget::is_spent`]) |
//! | an HTTP request | with [`Reason::BudgetSpent`](super::Reason), a 503, before the next store request |
//! | a run in the background | inside its slice, and a later run goes on |
//!
//! A budget is checked before a store request and charged after it. So work exceeds its budget by at most the
//! requests in flight, and a command ends between two of its writes, as after a crash. The limit of a request
//! stands above that of its page: a list ends early before it fails.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    Reason, StoreError,
    meter::{Meter, current_meter},
};

/// The most that some work may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests to the store, the retries of the SDK included.
    pub store_requests: u64,
    /// Request units.
    pub request_units: u32,
    /// Time from the beginning of the work.
    pub time: Duration,
}

impl Limits {
    /// The limits of an HTTP request whose function has none of its own: a hundred attempts of a command, and more
    /// than the dearest single write (some 3,000 request units). Azure answers a caller within 230 s.
    pub const REQUEST: Self =
        Self { store_requests: 1_000, request_units: 20_000, time: Duration::from_mins(1) };
}

/// The budget of work that has begun: its limits, and the use of the current task since then.
#[derive(Debug, Clone)]
pub struct Budget {
    limits: Limits,
    meter: Option<Arc<Meter>>,
    requests_before: u64,
    request_units_before: f64,
    started: Instant,
}

impl Budget {
    /// Starts a budget. It counts what the current task uses from now on.
    pub fn start(limits: Limits) -> Self {
        let meter = current_meter();
        Self {
            limits,
            requests_before: meter.as_ref().map_or(0, |meter| meter.requests()),
            request_units_before: meter.as_ref().map_or(0.0, |meter| meter.request_units()),
            meter,
            started: Instant::now(),
        }
    }

    /// Returns true if one of the limits is reached.
    pub fn is_spent(&self) -> bool {
        let Limits { store_requests, request_units, time } = self.limits;
        let is_over = |meter: &Meter| {
            meter.requests() - self.requests_before >= store_requests
                || meter.request_units() - self.request_units_before >= f64::from(request_units)
        };
        self.started.elapsed() >= time || self.meter.as_deref().is_some_and(is_over)
    }
}

tokio::task_local! {
    static REQUEST_BUDGET: Option<Budget>;
}

/// Runs `work` within limits: beyond them its store requests fail with `BudgetSpent`, and are not sent.
pub(crate) async fn within<F: Future>(limits: Limits, work: F) -> F::Output {
    REQUEST_BUDGET.scope(Some(Budget::start(limits)), work).await
}

/// As [`within`], for an HTTP request: what it has used before counts, too, as its wait for projections does.
pub(crate) async fn within_request<F: Future>(limits: Limits, work: F) -> F::Output {
    let budget = Budget { requests_before: 0, request_units_before: 0.0, ..Budget::start(limits) };
    REQUEST_BUDGET.scope(Some(budget), work).await
}

/// Returns the end of the time that the current task's limits allow; `None` without limits.
pub fn deadline() -> Option<Instant> {
    let end =
        |budget: &Option<Budget>| budget.as_ref().map(|budget| budget.started + budget.limits.time);
    REQUEST_BUDGET.try_with(end).ok().flatten()
}

pub(super) fn without_limits<F: Future>(work: F) -> impl Future<Output = F::Output> {
    REQUEST_BUDGET.scope(None, work)
}

pub(super) fn check_request_budget() -> Result<(), StoreError> {
    let is_spent = |budget: &Option<Budget>| budget.as_ref().is_some_and(Budget::is_spent);
    // A trigger has no limits here: its slice bounds it.
    match REQUEST_BUDGET.try_with(is_spent) {
        Ok(true) => Err(StoreError::new(Reason::BudgetSpent, false)),
        _ => Ok(()),
    }
}
