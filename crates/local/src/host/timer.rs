//! The runs of timer functions.

use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;

use super::console::Console;
use super::function::{Function, TimerTrigger};
use super::invoke::{self, InvocationOutcome, Invoker};
use super::wire::{self, Attempt, TimerStatus};
use crate::lock;

/// The longest sleep: a laptop that slept must notice a run that is due.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// A run that starts later than this is past due.
const PAST_DUE_AFTER: Duration = Duration::from_secs(1);

pub(super) async fn run(
    function: Function,
    timer: TimerTrigger,
    invoker: Arc<dyn Invoker>,
    console: Console,
) {
    let now = OffsetDateTime::now_utc;
    let mut next = if timer.run_on_startup { Some(now()) } else { timer.schedule.next(now()) };
    while let Some(due) = next {
        while let Ok(left) = Duration::try_from(due - now())
            && !left.is_zero()
        {
            tokio::time::sleep(left.min(MAX_SLEEP)).await;
        }
        let status = TimerStatus {
            last: *lock(&timer.last_run),
            next: timer.schedule.next(due),
            is_past_due: now() - due > PAST_DUE_AFTER,
        };
        let status = timer.has_status().then_some(&status);
        let body = |attempt: &Attempt| wire::timer(&function, status, attempt);
        let outcome =
            invoke::run(invoker.as_ref(), &function, body, 1.0, None, &console, "timer").await;
        if let InvocationOutcome::Failed(failure) = outcome {
            console.error(&format!("{}: {failure}; it runs again when it is due", function.name));
        }
        *lock(&timer.last_run) = Some(due);
        next = timer.schedule.next(now());
    }
    console.warn(&format!("{}: its schedule has no further run", function.name));
}
