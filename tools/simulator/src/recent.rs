//! The states that a stale read may see: the writes of another instance reach it a moment later.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// More versions than an item has in the time that a read may lag.
const MAX_VERSIONS: usize = 50;

/// Versions of an item that were the newest one until recently.
#[derive(Debug, Clone)]
pub struct Recent<T>(VecDeque<(Instant, T)>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Recent<T> {
    /// Adds a version that a newer one has just replaced.
    pub fn push(&mut self, version: T) {
        if self.0.len() == MAX_VERSIONS {
            self.0.pop_front();
        }
        self.0.push_back((Instant::now(), version));
    }

    /// Returns the versions that were the newest one after this moment.
    pub fn since(&self, moment: Instant) -> impl Iterator<Item = &T> {
        self.0.iter().filter(move |(until, _)| *until > moment).map(|(_, version)| version)
    }
}

/// Returns the oldest moment whose state a read may see that began at `began`.
pub fn oldest(began: Instant, behind: Duration) -> Instant {
    began.checked_sub(behind).unwrap_or(began)
}
