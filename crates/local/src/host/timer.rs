//! The runs of timer functions.

use std::time::Duration;

use time::OffsetDateTime;

use super::console::Console;
use super::function::{Function, TimerTrigger};
use super::invoke::{self, InvocationOutcome, Invoker, Retrying};
use super::wire::{self, TimerStatus};

/// The longest sleep: a laptop that slept must notice a run that is due.
const MAX_SLEEP: Duration = Duration::from_secs(30);
/// A run that starts later than this is past due.
const PAST_DUE_AFTER: Duration = Duration::from_secs(1);

pub(super) async fn run(
    function: Function,
    timer: TimerTrigger,
    invoker: std::sync::Arc<dyn Invoker>,
    console: Console,
) {
    let last = || timer.last_run.get();
    if timer.run_on_startup {
        let now = OffsetDateTime::now_utc();
        let next = timer.schedule.next(now);
        let status = TimerStatus { last: last(), next, is_past_due: false };
        run_once(&function, &timer, &status, invoker.as_ref(), &console).await;
        timer.last_run.set(now);
    }
    while let Some(due) = timer.schedule.next(OffsetDateTime::now_utc()) {
        loop {
            let left = Duration::try_from(due - OffsetDateTime::now_utc()).unwrap_or_default();
            if left.is_zero() {
                break;
            }
            tokio::time::sleep(left.min(MAX_SLEEP)).await;
        }
        let late = OffsetDateTime::now_utc() - due;
        let next = timer.schedule.next(due);
        let status = TimerStatus { last: last(), next, is_past_due: late > PAST_DUE_AFTER };
        run_once(&function, &timer, &status, invoker.as_ref(), &console).await;
        timer.last_run.set(due);
    }
    console.warn(&format!("{}: its schedule has no further run", function.name));
}

async fn run_once(
    function: &Function,
    timer: &TimerTrigger,
    status: &TimerStatus,
    invoker: &dyn Invoker,
    console: &Console,
) {
    let status = timer.has_status().then_some(status);
    let outcome = invoke::run(
        invoker,
        function,
        |attempt| wire::timer(function, status, attempt),
        Retrying { scale: 1.0, give_up_after: None },
        console,
        "timer",
    )
    .await;
    if let InvocationOutcome::Failed(failure) = outcome {
        console.error(&format!("{}: {failure}; it runs again when it is due", function.name));
    }
}
