//! The turns of a run in the background: what it does waits for the budget, until a deadline.

use tokio::time::Instant;

use tributary_functions::projection::Background;

/// How many items a run asks for at once, and how many of them it works on at a time.
pub(super) const PAGE: u32 = 100;
pub(super) const AT_A_TIME: usize = 8;

/// How long a run may take, in slices of the background, which are 15 s. A function of the host has 10
/// minutes, a caller over HTTP 230 seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice(pub(super) u32);

impl Slice {
    /// For a timer: 4 minutes.
    pub(super) const TIMER: Self = Self(16);
    /// For a caller who waits: 1 minute.
    pub(super) const CALL: Self = Self(4);

    /// Returns half of it.
    pub(super) fn half(self) -> Self {
        Self(self.0 / 2)
    }
}

/// The turns until a deadline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turns<'a> {
    background: &'a Background,
    deadline: Instant,
}

impl<'a> Turns<'a> {
    /// The turns of a slice that begins now.
    pub(super) fn begin(background: &'a Background, Slice(slices): Slice) -> Self {
        Self { background, deadline: background.deadline_after(slices) }
    }

    /// Runs an operation when it is its turn; `None` when it is not before the deadline.
    pub(super) async fn next<F: Future>(&self, operation: F) -> Option<F::Output> {
        if Instant::now() >= self.deadline {
            return None;
        }
        self.background.pacer.run(self.deadline, operation).await
    }
}
