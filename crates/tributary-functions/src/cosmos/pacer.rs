//! A rate limit for work in the background, which leaves request units to readers.

use std::{
    num::NonZeroU32,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::{Instant, sleep_until, timeout_at};

use super::metered;
use crate::lock::lock;

/// A rate limit in request units a second. The cost of an operation is known when it ends, so it is paid afterwards:
/// the next one begins when the rate has yielded all that was spent. Idle time earns nothing. So in any
/// period, the cost is at most what the rate yields in it, plus that of the operations in flight at its two ends.
#[derive(Debug)]
pub struct Pacer {
    rate: Option<NonZeroU32>,
    /// The time at which all request units that were spent are paid for.
    paid: Mutex<Instant>,
}

impl Pacer {
    pub(crate) fn new(rate: Option<NonZeroU32>) -> Self {
        Self { rate, paid: Mutex::new(Instant::now()) }
    }

    /// Returns `None` if its turn does not come before the deadline. One that need not wait runs even after it.
    pub(crate) async fn run<F: Future>(
        &self,
        deadline: impl Into<Option<Instant>>,
        operation: F,
    ) -> Option<F::Output> {
        self.turn(deadline.into()).await?;
        Some(self.charge(operation).await)
    }

    /// Runs an operation at once. Later ones wait until it is paid. What a pacer has counted is not counted again.
    pub async fn charge<F: Future>(&self, operation: F) -> F::Output {
        let (output, meter) = metered(operation).await;
        if let Some(rate) = self.rate {
            let mut paid = lock(&self.paid);
            *paid = paid_at(*paid, Instant::now(), meter.take_unpaced(), rate);
        }
        output
    }

    async fn turn(&self, deadline: Option<Instant>) -> Option<()> {
        loop {
            let paid = *lock(&self.paid);
            // Other operations may have spent more while this one slept.
            if paid <= Instant::now() {
                return Some(());
            }
            match deadline {
                Some(deadline) => timeout_at(deadline, sleep_until(paid)).await.ok()?,
                None => sleep_until(paid).await,
            }
        }
    }
}

fn paid_at(paid: Instant, now: Instant, request_units: f64, rate: NonZeroU32) -> Instant {
    paid.max(now) + Duration::from_secs_f64(request_units / f64::from(rate.get()))
}

/// Settings of work in the background of any size: renames, and the removal of the children of deleted items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundOptions {
    /// The request units a second that all of this work of one process may use; `None` is no limit.
    pub request_units_per_second: Option<NonZeroU32>,
    /// The time that one delivery spends on one change. A batch must end well within `functionTimeout`.
    pub slice: Duration,
}

impl Default for BackgroundOptions {
    /// This leaves readers more than half of the smallest autoscale container (1,000).
    fn default() -> Self {
        Self { request_units_per_second: NonZeroU32::new(400), slice: Duration::from_secs(15) }
    }
}

/// The budget that the projections share, and the slice of time of each change. When the slice is over and work
/// remains, a projection writes an item, which the change feed delivers behind all other changes. So work of any size
/// holds up no other.
#[derive(Debug, Clone)]
pub struct Background {
    /// Lets operations pass at the rate.
    pub pacer: Arc<Pacer>,
    slice: Duration,
}

impl Background {
    /// Creates a budget, which all clones share.
    pub fn new(options: BackgroundOptions) -> Self {
        let BackgroundOptions { request_units_per_second, slice } = options;
        Self { pacer: Arc::new(Pacer::new(request_units_per_second)), slice }
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.slice
    }

    /// Begins a run that works on many items, for so many slices from now.
    pub fn turns(&self, slices: u32) -> Turns<'_> {
        Turns { pacer: &self.pacer, deadline: Instant::now() + slices * self.slice }
    }
}

/// The turns of a run: each operation waits for the budget, and none begins after the deadline.
#[derive(Debug, Clone, Copy)]
pub struct Turns<'a> {
    pacer: &'a Pacer,
    deadline: Instant,
}

impl Turns<'_> {
    /// Runs an operation when the budget allows it; `None` if that is not before the deadline.
    pub async fn next<F: Future>(&self, operation: F) -> Option<F::Output> {
        if Instant::now() >= self.deadline {
            return None;
        }
        self.pacer.run(self.deadline, operation).await
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cosmos::meter::CostShare;

    proptest! {
        /// Operations one after the other, each after a pause of its own; all take no time.
        #[test]
        fn the_pacer_spends_no_more_than_its_rate(
            rate in 1_u32..5_000,
            operations in proptest::collection::vec((0_u64..2_000, 0_u32..5_000), 1..50),
        ) {
            let rate = NonZeroU32::new(rate).unwrap();
            let start = Instant::now();
            let mut now = start;
            let mut paid = start;
            let mut begun = Vec::new();
            for (pause_ms, tenths) in operations {
                now = (now + Duration::from_millis(pause_ms)).max(paid);
                begun.push((now, f64::from(tenths) / 10.0));
                paid = paid_at(paid, now, f64::from(tenths) / 10.0, rate);
            }
            for first in 0..begun.len() {
                let mut spent = 0.0;
                for last in first + 1..begun.len() {
                    spent += begun[last - 1].1;
                    let time = (begun[last].0 - begun[first].0).as_secs_f64();
                    prop_assert!(spent <= time * f64::from(rate.get()) + 0.01);
                }
            }
        }
    }

    #[tokio::test]
    async fn an_operation_in_an_operation_is_paid_once() {
        let pacer = Pacer::new(NonZeroU32::new(100));
        let part = async { CostShare::for_request(20_000).charge() };
        let whole = async {
            CostShare::for_request(10_000).charge();
            pacer.charge(part).await;
            CostShare::for_request(5_000).charge();
        };
        let began = Instant::now();
        let ((), meter) = metered(pacer.charge(whole)).await;
        let paid = (*pacer.paid.lock().unwrap() - began).as_secs_f64();
        assert!((3.5..4.5).contains(&paid), "350 RU at 100 a second: {paid}");
        assert!((meter.request_units() - 350.0).abs() < 1e-9);
    }

    #[tokio::test]
    async fn an_operation_waits_for_its_turn_until_the_deadline() {
        let pacer = Pacer::new(NonZeroU32::new(1));
        let soon = || Instant::now() + Duration::from_millis(5);
        assert_eq!(pacer.run(Instant::now(), async { 1 }).await, Some(1));
        *pacer.paid.lock().unwrap() += Duration::from_mins(1);
        assert_eq!(pacer.run(soon(), async { 2 }).await, None);
        *pacer.paid.lock().unwrap() = Instant::now();
        assert_eq!(pacer.run(soon(), async { 3 }).await, Some(3));
    }
}
