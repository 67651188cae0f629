//! Physical partitions that split while the account is in use.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::{backend::Backend, operation::ContainerPath, replicas::Replicas};
use crate::chaos::{Chaos, ChaosKind, Random};

/// The number of writes to the account from one split to the next at most.
const MAX_WRITES_BETWEEN_SPLITS: u64 = 2_000;
/// The time, in milliseconds, for which a partition answers 410 while it splits, at most. In Azure a
/// split takes much longer, but most of it in the background.
const MAX_LOCKED_MS: u64 = 100;

/// The time and the partition of each split.
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
        let mut random = chaos.fork(ChaosKind::Split);
        let next = Next {
            left: chaos.spec().splits(),
            writes: 1 + random.below(MAX_WRITES_BETWEEN_SPLITS),
            random,
        };
        Self { chaos, next: Mutex::new(next) }
    }

    /// Counts a write. If a split is due, a partition of the written container splits.
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
        let locked = Duration::from_millis(random.below(MAX_LOCKED_MS));
        // The backend copies the data of any region into the new partitions.
        let (alone, caught_up) = replicas.catch_up().await;
        backend.split(path, partition, locked);
        drop(alone);
        if let Some(caught_up) = caught_up {
            let backend = Arc::clone(backend);
            let path = path.clone();
            tokio::spawn(async move {
                backend.split_done(&path, partition).await;
                drop(caught_up);
            });
        }
        self.chaos.note(
            ChaosKind::Split,
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
        next.writes = 1 + next.random.below(MAX_WRITES_BETWEEN_SPLITS);
        if next.left == 0 {
            return None;
        }
        next.left -= 1;
        Some(next.random.fork())
    }
}
