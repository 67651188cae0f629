//! Physical partitions that split while the account is in use.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{backend::Backend, operation::ContainerPath, replicas::Replicas};
use crate::chaos::{Chaos, Kind, Random};

/// A split comes after at most this many writes to the account since the one before.
const MOST_WRITES: u64 = 2_000;
/// How long a partition answers 410 while it splits, at most, in milliseconds. In Azure it takes
/// much longer, but most of it goes on in the background.
const MOST_LOCKED_MS: u64 = 100;

/// Decides when which partition splits.
#[derive(Debug)]
pub(super) struct Splits {
    chaos: Chaos,
    next: Mutex<Next>,
}

#[derive(Debug)]
struct Next {
    left: u32,
    writes: u64,
    random: Random,
}

impl Splits {
    pub(super) fn new(chaos: Chaos) -> Self {
        let mut random = chaos.fork(Kind::Split);
        let next =
            Next { left: chaos.spec().splits(), writes: 1 + random.below(MOST_WRITES), random };
        Self { chaos, next: Mutex::new(next) }
    }

    /// Counts a write; when a split is due, a partition of the container written to splits.
    pub(super) async fn after_write(
        &self,
        backend: &Arc<dyn Backend>,
        replicas: &Replicas,
        path: &ContainerPath,
    ) {
        let Some(mut random) = self.due() else {
            return;
        };
        let partitions = backend.partitions(path);
        let Some(&partition) = partitions.get(random.index(partitions.len())) else {
            return;
        };
        let locked = Duration::from_millis(random.below(MOST_LOCKED_MS));
        // The backend takes what any region knows for the beginning of the new partitions.
        let (alone, caught_up) = replicas.catch_up().await;
        backend.split(path, partition, locked);
        drop(alone);
        if let Some(caught_up) = caught_up {
            let (backend, path) = (Arc::clone(backend), path.clone());
            tokio::spawn(async move {
                backend.split_done(&path, partition).await;
                drop(caught_up);
            });
        }
        self.chaos.note(
            Kind::Split,
            format_args!(
                "partition {partition} of {}, locked for {} ms",
                path.container,
                locked.as_millis()
            ),
        );
    }

    fn due(&self) -> Option<Random> {
        if self.chaos.is_stopped() {
            return None;
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.writes -= 1;
        if next.writes > 0 {
            return None;
        }
        next.writes = 1 + next.random.below(MOST_WRITES);
        if next.left == 0 {
            return None;
        }
        next.left -= 1;
        Some(next.random.fork())
    }
}
