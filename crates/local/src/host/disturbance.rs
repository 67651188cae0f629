//! Chaos in the deliveries of one lease.
//!
//! Chaos never does more than the change feed does. A document changes its place only among those of
//! other logical partitions. A batch is held back only while batches of other leases go on. The lease
//! is checkpointed only after a successful delivery. A duplicate delivery, at once or late, models a
//! second instance that took the lease over for a moment, or had it before.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;

use super::invoke::{InvocationFailure, InvocationResult, Invoker};
use crate::chaos::{Chaos, ChaosKind, Random};

/// The time in milliseconds for which a batch is held back at most.
const MAX_HELD_BACK_MS: u64 = 150;
/// The time in milliseconds from the start of a batch or a request to a kill of the handler, at most.
pub(super) const MAX_CRASH_DELAY_MS: u64 = 20;
/// The number of steps of its lease after which a duplicate is due, at most; a step is a read
/// of the feed.
const MAX_DUPLICATE_STEPS: u64 = 60;
/// The number of waiting duplicates of a lease at most.
const MAX_WAITING_BATCHES: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Disturbance {
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    steps: u64,
    documents: Vec<Value>,
}

impl Disturbance {
    /// Counts a read of the feed, and returns the batches whose duplicate delivery is due.
    pub(super) fn due(&mut self, chaos: &Chaos) -> Vec<Vec<Value>> {
        if chaos.is_stopped() {
            self.waiting.clear();
        }
        self.waiting.iter_mut().for_each(|one| one.steps -= 1);
        let due = self.waiting.extract_if(.., |one| one.steps == 0);
        let due: Vec<_> = due.map(|one| one.documents).collect();
        for documents in &due {
            let count = documents.len();
            chaos.note(ChaosKind::Duplicates, format_args!("{count} documents again, late"));
        }
        due
    }

    /// Draws whether a delivered batch has a duplicate delivery, and when. Returns true for one that follows
    /// at once; keeps the documents of a later one.
    pub(super) fn is_repeated_at_once(&mut self, chaos: &Chaos, documents: &[Value]) -> bool {
        let Some(mut random) = chaos.roll(ChaosKind::Duplicates) else {
            return false;
        };
        let count = documents.len();
        if random.chance(0.5) || self.waiting.len() == MAX_WAITING_BATCHES {
            chaos.note(ChaosKind::Duplicates, format_args!("{count} documents again, at once"));
            return true;
        }
        let steps = 1 + random.below(MAX_DUPLICATE_STEPS);
        self.waiting.push(Waiting { steps, documents: documents.to_vec() });
        false
    }
}

/// Lets documents of other logical partitions overtake each other, and batches of other leases overtake
/// this one.
pub(super) async fn reorder(chaos: &Chaos, key_paths: &[String], documents: &mut Vec<Value>) {
    let Some(mut random) = chaos.roll(ChaosKind::Reorder) else {
        return;
    };
    let held_back = Duration::from_millis(random.below(MAX_HELD_BACK_MS));
    let count = documents.len();
    *documents = interleaved(std::mem::take(documents), key_paths, &mut random);
    chaos.note(
        ChaosKind::Reorder,
        format_args!("{count} documents, held back for {} ms", held_back.as_millis()),
    );
    tokio::time::sleep(held_back).await;
}

/// Returns the documents in a random order that keeps the order of those of one logical partition.
fn interleaved(documents: Vec<Value>, key_paths: &[String], random: &mut Random) -> Vec<Value> {
    let key = |document: &Value| -> String {
        let values = key_paths.iter().map(|path| document.pointer(path).unwrap_or(&Value::Null));
        values.map(Value::to_string).collect::<Vec<_>>().join("\n")
    };
    let mut order: Vec<String> = documents.iter().map(key).collect();
    random.shuffle(&mut order);
    let mut partitions: HashMap<String, VecDeque<Value>> = HashMap::new();
    for document in documents {
        partitions.entry(key(&document)).or_default().push_back(document);
    }
    let next = |key: &String| partitions.get_mut(key).and_then(VecDeque::pop_front);
    order.iter().filter_map(next).collect()
}

/// Returns the time after which a second instance begins with the same batch, if batches overlap.
pub(super) fn overlap(chaos: &Chaos) -> Option<Duration> {
    let mut random = chaos.roll(ChaosKind::Overlap)?;
    chaos.note(ChaosKind::Overlap, "a batch in two handlers");
    Some(Duration::from_millis(random.below(MAX_CRASH_DELAY_MS)))
}

/// An invoker whose handler is killed at random in the middle of an invocation.
pub(super) struct Crashing<'a> {
    pub(super) invoker: &'a dyn Invoker,
    pub(super) chaos: &'a Chaos,
}

#[async_trait]
impl Invoker for Crashing<'_> {
    async fn invoke(&self, function: &str, invocation_id: &str, body: Bytes) -> InvocationResult {
        let invocation = self.invoker.invoke(function, invocation_id, body);
        let Some(mut random) = self.chaos.roll(ChaosKind::Crash) else {
            return invocation.await;
        };
        let after = Duration::from_millis(random.below(MAX_CRASH_DELAY_MS));
        if let Ok(result) = tokio::time::timeout(after, invocation).await {
            return result;
        }
        self.invoker.crash();
        let after_ms = after.as_millis();
        self.chaos.note(ChaosKind::Crash, format_args!("{function} after {after_ms} ms"));
        Err(InvocationFailure::Unreachable("it was killed on purpose".to_owned()))
    }

    fn crash(&self) {
        self.invoker.crash();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_of_one_logical_partition_keep_their_order() {
        let documents: Vec<Value> =
            (0..60).map(|n| json!({"id": n, "key": {"of": n % 6}})).collect();
        let mut random = Random::stream(7, 1);
        let after = interleaved(documents.clone(), &["/key/of".to_owned()], &mut random);
        assert_ne!(after, documents);
        assert_eq!(after.len(), 60);
        for partition in 0..6 {
            let of = |list: &[Value]| -> Vec<Value> {
                list.iter().filter(|document| document["key"]["of"] == partition).cloned().collect()
            };
            assert_eq!(of(&after), of(&documents));
        }
    }
}
