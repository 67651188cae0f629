//! The budget and the slices of work that may have any size.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::Pacer;

/// Settings of the work in the background that may have any size: renames, and the removal of the
/// children of deleted items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundOptions {
    /// The request units a second that all of this work of one process may use; `None` is no limit.
    pub request_units_per_second: Option<NonZeroU32>,
    /// The time that one delivery spends on one change. All changes of a batch together must end well
    /// within `functionTimeout`, after which the host kills the process.
    pub slice: Duration,
}

impl Default for BackgroundOptions {
    /// 400 request units a second leave more than half of what the smallest autoscale container has
    /// (1,000) to readers, and nine tenths of what a serverless partition has (5,000). They give
    /// some 35 items of 1 KB a second.
    fn default() -> Self {
        Self { request_units_per_second: NonZeroU32::new(400), slice: Duration::from_secs(15) }
    }
}

/// The budget that the projections share, and the slice of time of each change. Cloning is cheap.
///
/// When the slice is over and work remains, a projection writes an item, and acknowledges only then.
/// The change feed delivers that item behind all changes that have come meanwhile. So work of any size
/// holds up no other, and an interruption loses nothing.
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

    /// Returns the end of the slice of a change that is begun now.
    pub fn deadline(&self) -> Instant {
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
