//! What this process remembers of the migration's progress.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tributary_functions::values::Timestamp;

/// How long it is remembered. An older progress is true as well: more is asked for than is needed.
const AGE: Duration = Duration::from_mins(1);

/// How far the migration has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Migrated {
    /// What was published before this moment is not in the hot container alone, and every replica knows
    /// it.
    pub all_before: Timestamp,
    /// What was published from this moment on is not in the warm container alone, or has been for less
    /// than the time that its carried copy stays.
    pub none_since: Timestamp,
}

impl Migrated {
    /// Nothing is migrated.
    pub(super) const NOTHING: Self =
        Self { all_before: Timestamp::EPOCH, none_since: Timestamp::EPOCH };
}

/// The progress of the migration, as of at most a minute ago. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownProgress(Arc<Mutex<Option<(Instant, Migrated)>>>);

impl KnownProgress {
    pub(super) fn get(&self) -> Option<Migrated> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(since, _)| since.elapsed() < AGE).map(|(_, migrated)| migrated)
    }

    pub(super) fn set(&self, migrated: Migrated) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), migrated));
    }
}
