//! What chaos does to the deliveries of one lease.
//!
//! It never does what the change feed would not: a document changes its place only among those of
//! other logical partitions, a batch is held back only while batches of other leases go on, and
//! the lease is checkpointed only after a delivery that succeeded. What comes again, at once or
//! late, comes from a second instance that took the lease over for a moment, or had it before.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

use super::failure::Failure;
use super::invoke::{InvocationResult, Invoker};
use crate::chaos::{Chaos, Kind, Random};

/// How long a batch is held back, at most, in milliseconds.
const MOST_HELD_BACK_MS: u64 = 150;
/// How long after a batch or a request began the handler is killed, at most, in milliseconds.
pub(super) const LATEST_CRASH_MS: u64 = 20;
/// After how many steps of its lease a batch comes again, at most; a step is a read of the feed.
const MOST_STEPS: u64 = 60;
/// How many batches of a lease wait to come again, at most.
const MOST_WAITING: usize = 16;

/// The batches of a lease that will come again.
#[derive(Debug, Default)]
pub(super) struct Disturbance {
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    steps: u64,
    documents: Vec<Value>,
}

impl Disturbance {
    /// One read of the feed has passed: the batches that come again now.
    pub(super) fn due(&mut self, chaos: &Chaos) -> Vec<Vec<Value>> {
        if chaos.is_stopped() {
            self.waiting.clear();
        }
        let mut due = Vec::new();
        for mut one in std::mem::take(&mut self.waiting) {
            one.steps -= 1;
            if one.steps == 0 {
                due.push(one.documents);
            } else {
                self.waiting.push_back(one);
            }
        }
        for documents in &due {
            let count = documents.len();
            chaos.note(Kind::Duplicates, format_args!("{count} documents again, late"));
        }
        due
    }

    /// Whether a batch that was delivered comes again at once; or keeps it for later.
    pub(super) fn comes_again(&mut self, chaos: &Chaos, documents: &[Value]) -> bool {
        let Some(mut random) = chaos.roll(Kind::Duplicates) else {
            return false;
        };
        let count = documents.len();
        if random.chance(0.5) || self.waiting.len() == MOST_WAITING {
            chaos.note(Kind::Duplicates, format_args!("{count} documents again, at once"));
            return true;
        }
        let steps = 1 + random.below(MOST_STEPS);
        self.waiting.push_back(Waiting { steps, documents: documents.to_vec() });
        false
    }
}

/// Lets documents of other logical partitions overtake each other, and batches of other leases
/// overtake this one.
pub(super) async fn reorder(chaos: &Chaos, key_paths: &[String], documents: &mut Vec<Value>) {
    let Some(mut random) = chaos.roll(Kind::Reorder) else {
        return;
    };
    let held_back = Duration::from_millis(random.below(MOST_HELD_BACK_MS));
    let count = documents.len();
    *documents = interleaved(std::mem::take(documents), key_paths, &mut random);
    chaos.note(
        Kind::Reorder,
        format_args!("{count} documents, held back for {} ms", held_back.as_millis()),
    );
    tokio::time::sleep(held_back).await;
}

/// The documents in a random order, in which those of one logical partition keep theirs.
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

/// How long after the first instance the second begins with the same batch, when it does.
pub(super) fn overlap(chaos: &Chaos) -> Option<Duration> {
    let mut random = chaos.roll(Kind::Overlap)?;
    chaos.note(Kind::Overlap, "a batch in two handlers");
    Some(Duration::from_millis(random.below(LATEST_CRASH_MS)))
}

/// An invoker whose handler is killed in the middle of an invocation now and then.
pub(super) struct Crashing<'a> {
    pub(super) invoker: &'a dyn Invoker,
    pub(super) chaos: &'a Chaos,
}

impl Invoker for Crashing<'_> {
    fn invoke<'a>(
        &'a self,
        function: &'a str,
        invocation_id: &'a str,
        body: Bytes,
    ) -> BoxFuture<'a, InvocationResult> {
        async move {
            let invocation = self.invoker.invoke(function, invocation_id, body);
            let Some(mut random) = self.chaos.roll(Kind::Crash) else {
                return invocation.await;
            };
            let after = Duration::from_millis(random.below(LATEST_CRASH_MS));
            if let Ok(result) = tokio::time::timeout(after, invocation).await {
                return result;
            }
            self.invoker.crash();
            let after_ms = after.as_millis();
            self.chaos.note(Kind::Crash, format_args!("{function} after {after_ms} ms"));
            Err(Failure::Unreachable("it was killed on purpose".to_owned()))
        }
        .boxed()
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
                list.iter().filter(|one| one["key"]["of"] == partition).cloned().collect()
            };
            assert_eq!(of(&after), of(&documents));
        }
    }
}
