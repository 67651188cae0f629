//! The changes that an instance has applied eagerly.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::Instant,
};

use crate::cosmos::Session;

/// The most sources that a projection remembers: some 500 KB.
const MAX_SOURCES: usize = 2_048;

/// The time for which a source is remembered. The change feed delivers it in seconds as a rule.
const MAX_AGE: Duration = Duration::from_mins(5);

/// The age at which a source makes room for another. Most are delivered before, and many at other instances.
const MIN_AGE: Duration = Duration::from_secs(10);

/// The sources that a projection has applied at this instance, each with its newest version.
#[derive(Default)]
pub struct AppliedChanges(StdMutex<HashMap<String, Arc<Mutex<Option<Applied>>>>>);

/// A version of a source that was applied.
struct Applied {
    version: u64,
    copies: Session,
    at: Instant,
}

/// A source whose changes no other command of this instance applies meanwhile.
pub(super) struct EnteredSource(Option<OwnedMutexGuard<Option<Applied>>>);

impl AppliedChanges {
    /// Waits until no other command applies a change of the source.
    pub(super) async fn enter(&self, source: &str, now: Instant) -> EnteredSource {
        let slot = {
            let mut slots = self.lock();
            if slots.len() >= MAX_SOURCES && !slots.contains_key(source) {
                // One that is in use is held by its user, too.
                slots.retain(|_, slot| {
                    Arc::strong_count(slot) > 1 || is_younger(slot, now, MIN_AGE)
                });
            }
            let has_room = slots.len() < MAX_SOURCES || slots.contains_key(source);
            has_room.then(|| Arc::clone(slots.entry(source.to_owned()).or_default()))
        };
        match slot {
            Some(slot) => EnteredSource(Some(slot.lock_owned().await)),
            // It is applied, and not remembered.
            None => EnteredSource(None),
        }
    }

    /// Returns true if this version of a source, or a newer one, was applied. The change feed delivers a version
    /// once as a rule, so it is forgotten then.
    pub(super) fn settles(&self, source: &str, version: u64, now: Instant) -> bool {
        let mut slots = self.lock();
        let Some(slot) = slots.get(source) else { return false };
        // It is being applied: the delivery looks for itself.
        let Ok(applied) = slot.try_lock() else { return false };
        let known = applied
            .as_ref()
            .filter(|known| known.is_younger(now, MAX_AGE))
            .map(|known| known.version);
        drop(applied);
        let is_settled = known.is_some_and(|known| known >= version);
        if known.is_none_or(|known| known <= version) {
            slots.remove(source);
        }
        is_settled
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Mutex<Option<Applied>>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Applied {
    fn is_younger(&self, now: Instant, age: Duration) -> bool {
        now.saturating_duration_since(self.at) < age
    }
}

impl EnteredSource {
    /// Returns the positions of the copies if this version of the source, or a newer one, was applied.
    pub(super) fn copies_of(&self, version: u64, now: Instant) -> Option<Session> {
        let known = self.0.as_ref()?.as_ref()?;
        (known.version >= version && known.is_younger(now, MAX_AGE)).then(|| known.copies.clone())
    }

    /// Remembers that a version was applied.
    pub(super) fn set(&mut self, version: u64, copies: Session, at: Instant) {
        if let Some(known) = &mut self.0 {
            **known = Some(Applied { version, copies, at });
        }
    }
}

fn is_younger(slot: &Mutex<Option<Applied>>, now: Instant, age: Duration) -> bool {
    let applied = slot.try_lock();
    applied.map_or(true, |applied| applied.as_ref().is_some_and(|known| known.is_younger(now, age)))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn apply(applied: &AppliedChanges, source: &str, version: u64, now: Instant) {
        applied.enter(source, now).await.set(version, Session::default(), now);
    }

    #[tokio::test]
    async fn a_version_is_settled_once_and_older_ones_before_it() {
        let now = Instant::now();
        let applied = AppliedChanges::default();
        assert!(!applied.settles("a", 1, now));
        apply(&applied, "a", 3, now).await;
        assert!(!applied.settles("b", 3, now), "another source");
        assert!(applied.settles("a", 2, now), "the newer one is still to come");
        assert!(applied.settles("a", 3, now));
        assert!(!applied.settles("a", 3, now), "a duplicate");
        apply(&applied, "a", 3, now).await;
        assert!(!applied.settles("a", 4, now));
        apply(&applied, "a", 3, now).await;
        assert!(!applied.settles("a", 3, now + MAX_AGE), "it is forgotten");
        let entered = applied.enter("a", now).await;
        assert!(!applied.settles("a", 1, now), "it is being applied");
        drop(entered);
    }

    #[tokio::test]
    async fn only_so_many_sources_are_remembered() {
        let now = Instant::now();
        let applied = AppliedChanges::default();
        for number in 0..2 * MAX_SOURCES {
            apply(&applied, &number.to_string(), 1, now).await;
        }
        assert_eq!(applied.lock().len(), MAX_SOURCES);
        assert!(applied.settles("0", 1, now));
        assert!(!applied.settles(&MAX_SOURCES.to_string(), 1, now));
        apply(&applied, "0", 1, now).await;
        apply(&applied, "new", 1, now + MIN_AGE).await;
        assert_eq!(applied.lock().len(), 1);
        assert!(applied.settles("new", 1, now + MIN_AGE));
    }
}
