//! What this process remembers of the migration's progress.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::values::Timestamp;

/// How long it is remembered. An older progress is true as well: more is asked for than is needed.
const AGE: Duration = Duration::from_mins(1);

/// The moment before which everything is migrated, as of at most a minute ago. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownProgress(Arc<Mutex<Option<(Instant, Timestamp)>>>);

impl KnownProgress {
    pub(super) fn get(&self) -> Option<Timestamp> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(since, _)| since.elapsed() < AGE).map(|(_, before)| before)
    }

    pub(super) fn set(&self, before: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), before));
    }
}
