//! The mutexes of this crate.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks also after a panic of another holder: these mutexes guard data that is good enough then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
