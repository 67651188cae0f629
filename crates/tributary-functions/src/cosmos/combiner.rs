//! Group commit: operations that arrive for a key while a write to it is under way are carried out together, in
//! one write.
//!
//! The first operation on a key starts a run at once. While its group is in flight, further operations wait in
//! the key's queue, and the next group takes them. The run ends when none waits. So an operation that meets no
//! other costs as much as alone.
//!
//! - *Dropped callers.* The caller that starts a run drives it until it has its own outcome. Then, or when that
//!   caller is dropped before, the run continues in a task. An operation whose caller is dropped before its group
//!   begins is left out. If the caller is dropped later, its outcome is discarded.
//! - *Waiting time.* An operation waits for the group in flight, and for the full groups ahead of it. It gets its
//!   outcome with its first group. A retry is a new operation.
//! - *A panic* ends its group only. Its members get [`GroupPanicked`], and the next group begins without memory.
//! - *Costs* are divided evenly among the members ([`Meter::shares`](super::Meter::shares)). The trace has them
//!   under the member that came first.
//! - *Memory.* A key without operations has no entry. The memory that a run keeps from group to group ends with
//!   the run, so another instance can make it old, but never older than the run.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::Hash,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{self, Poll, ready},
};

use futures::{
    FutureExt,
    future::{BoxFuture, Either, select},
};
use tokio::{runtime::Handle, sync::oneshot, task::yield_now};

use super::{
    budget::without_limits,
    meter::{CostShare, metered_apart},
    retry::note_write,
    session::{Captures, SeenPositions, current_captures, in_no_session},
};
use crate::lock::lock;
use crate::telemetry::{TraceScope, WorkDetail, followed};

pub(crate) trait Combine: Sized + Send + Sync + 'static {
    type Key: Clone + Eq + Hash + Send + Sync;
    type Operation: Send;
    type Outcome: Send;
    type Memory: Default + Send;

    const MAX_GROUP_OPERATIONS: usize;
    /// The most bytes of a group, as [`Self::size`] adds them up; a single operation may be larger.
    const MAX_GROUP_BYTES: usize;

    fn target(operation: &Self::Operation) -> String;

    fn size(operation: &Self::Operation) -> usize;

    fn carry_out(
        &self,
        key: &Self::Key,
        operations: Vec<Self::Operation>,
        memory: &mut Self::Memory,
    ) -> impl Future<Output = Vec<Self::Outcome>> + Send;
}

pub(crate) struct Combiner<C: Combine>(Arc<Shared<C>>);

struct Shared<C: Combine> {
    groups: C,
    queues: Mutex<HashMap<C::Key, VecDeque<QueuedOperation<C>>>>,
}

struct QueuedOperation<C: Combine> {
    operation: C::Operation,
    scope: TraceScope,
    captures: Captures,
    answer: oneshot::Sender<Answered<C>>,
}

type Answered<C> = (<C as Combine>::Outcome, CostShare, Arc<SharedWork>);

struct SharedWork {
    seen: SeenPositions,
    detail: Option<WorkDetail>,
    members: usize,
}

struct DrivenRun {
    work: Option<BoxFuture<'static, ()>>,
    runtime: Handle,
}

impl Future for DrivenRun {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<()> {
        if let Some(work) = &mut self.work {
            ready!(work.poll_unpin(context));
            self.work = None;
        }
        Poll::Ready(())
    }
}

impl Drop for DrivenRun {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.runtime.spawn(work);
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the group of an operation panicked")]
pub(crate) struct GroupPanicked;

impl<C: Combine> Clone for Combiner<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Combine> Combiner<C> {
    pub(crate) fn new(groups: C) -> Self {
        Self(Arc::new(Shared { groups, queues: Mutex::default() }))
    }

    /// The caller must poll or drop the future: other callers may wait for the same group.
    pub(crate) async fn submit(
        &self,
        key: C::Key,
        operation: C::Operation,
    ) -> Result<C::Outcome, GroupPanicked> {
        note_write();
        let (answer, answered) = oneshot::channel();
        let scope = TraceScope::current();
        let captures = current_captures();
        let waiting = QueuedOperation { operation, scope, captures, answer };
        let answer = if self.0.enqueue(&key, waiting) {
            let work = Arc::clone(&self.0).run(key).boxed();
            let run = DrivenRun { work: Some(work), runtime: Handle::current() };
            match select(run, answered).await {
                Either::Left(((), answered)) => answered.await,
                Either::Right((answer, _others)) => answer,
            }
        } else {
            answered.await
        };
        let (outcome, share, work) = answer.map_err(|_| GroupPanicked)?;
        share.charge();
        work.seen.note();
        if let Some(detail) = &work.detail {
            detail.note_share(work.members);
        }
        Ok(outcome)
    }
}

impl<C: Combine> Shared<C> {
    fn enqueue(&self, key: &C::Key, waiting: QueuedOperation<C>) -> bool {
        let mut queues = self.queues();
        let is_first = !queues.contains_key(key);
        queues.entry(key.clone()).or_default().push_back(waiting);
        is_first
    }

    async fn run(self: Arc<Self>, key: C::Key) {
        let mut memory = C::Memory::default();
        let mut next = self.next_group(&key);
        while let Some(group) = next {
            let work = AssertUnwindSafe(self.group(&key, group, &mut memory));
            let answers = work.catch_unwind().await;
            // Before any outcome is sent: an operation that comes after an outcome starts a run of its own
            // if none waits.
            next = self.next_group(&key);
            if let Ok(answers) = answers {
                for (member, answer) in answers {
                    // A member that was dropped meanwhile is charged nothing: no response would report the charge.
                    let _ = member.send(answer);
                }
            } else {
                // The reason is on standard error, where Rust puts it.
                tracing::error!("A group of commands panicked");
                memory = C::Memory::default();
            }
            if next.is_some() {
                // The caller that drives the run may have its outcome now, and returns before the next group.
                yield_now().await;
            }
        }
    }

    async fn group(
        &self,
        key: &C::Key,
        group: Vec<QueuedOperation<C>>,
        memory: &mut C::Memory,
    ) -> Vec<(oneshot::Sender<Answered<C>>, Answered<C>)> {
        let captures =
            group.iter().map(|queued| &queued.captures).find(|queued| !queued.is_empty());
        let captures = captures.cloned().unwrap_or_default();
        let (operations, members): (Vec<_>, Vec<_>) = group
            .into_iter()
            .map(|queued| (queued.operation, (queued.scope, queued.answer)))
            .unzip();
        let Some((scope, _)) = members.first() else { return Vec::new() };
        // On the heap: each layer around it keeps a copy on the stack in a debug build, 700 KB together.
        let work = self.groups.carry_out(key, operations, memory).boxed();
        let work = scope.around(work);
        // Apart from the meter and the limits of the caller that drives the run: each member is charged
        // its own share.
        let work = without_limits(metered_apart(in_no_session(captures, followed(work))));
        let (((outcomes, detail), seen), meter) = work.await;
        let work = Arc::new(SharedWork { seen: seen.of_group(), detail, members: members.len() });
        let shares = meter.shares(members.len());
        let members = members.into_iter().map(|(_, member)| member);
        let answers = outcomes.into_iter().zip(shares);
        let answers = answers.map(|(outcome, share)| (outcome, share, Arc::clone(&work)));
        members.zip(answers).collect()
    }

    fn next_group(&self, key: &C::Key) -> Option<Vec<QueuedOperation<C>>> {
        let mut queues = self.queues();
        let queue = queues.get_mut(key)?;
        let mut group = Vec::new();
        let mut later = VecDeque::new();
        let mut targets = HashSet::new();
        let mut size = 0;
        let mut full = false;
        let waiting_callers = queue.drain(..).filter(|queued| !queued.answer.is_closed());
        for waiting in waiting_callers {
            let larger = size + C::size(&waiting.operation);
            // Once it is full, all others wait: nothing overtakes.
            full |= !group.is_empty()
                && (larger > C::MAX_GROUP_BYTES || group.len() == C::MAX_GROUP_OPERATIONS);
            if !full && targets.insert(C::target(&waiting.operation)) {
                size = larger;
                group.push(waiting);
            } else {
                later.push_back(waiting);
            }
        }
        *queue = later;
        if group.is_empty() {
            queues.remove(key);
        }
        (!group.is_empty()).then_some(group)
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<C::Key, VecDeque<QueuedOperation<C>>>> {
        lock(&self.queues)
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    /// Adds numbers up in groups of one key; a negative one is a bug.
    struct Sums;

    impl Combine for Sums {
        type Key = u8;
        type Operation = i32;
        type Outcome = (usize, i32);
        type Memory = i32;

        const MAX_GROUP_OPERATIONS: usize = 3;
        const MAX_GROUP_BYTES: usize = 100;

        fn target(operation: &i32) -> String {
            operation.to_string()
        }

        fn size(operation: &i32) -> usize {
            usize::try_from(*operation).unwrap_or_default()
        }

        async fn carry_out(&self, _: &u8, group: Vec<i32>, sum: &mut i32) -> Vec<(usize, i32)> {
            assert!(group.iter().all(|operation| *operation >= 0), "a bug");
            // The others come meanwhile.
            tokio::task::yield_now().await;
            *sum += group.iter().sum::<i32>();
            group.iter().map(|_| (group.len(), *sum)).collect()
        }
    }

    async fn at_once(combiner: &Combiner<Sums>, operations: &[i32]) -> Vec<Option<(usize, i32)>> {
        let sent =
            operations.iter().map(async |operation| combiner.submit(0, *operation).await.ok());
        let outcomes = join_all(sent).await;
        assert!(combiner.0.queues().is_empty(), "a key without operations has no queue");
        outcomes
    }

    #[tokio::test]
    async fn waiting_operations_go_together_in_the_order_of_their_arrival() {
        let combiner = Combiner::new(Sums);
        // The first starts the run; a group is bounded by number and by size, and has no target twice.
        let outcomes = at_once(&combiner, &[1, 2, 3, 4, 5, 5, 95, 50, 1]).await;
        let [alone, three, two, last] = [(1, 1), (3, 10), (2, 110), (3, 166)];
        let expected = [alone, three, three, three, two, last, two, last, last];
        assert_eq!(outcomes, expected.map(Some));
        assert_eq!(at_once(&combiner, &[7]).await, [Some((1, 7))], "nothing is remembered");
        assert_eq!(at_once(&combiner, &[400]).await, [Some((1, 400))], "one may be too large");
    }

    #[tokio::test]
    async fn a_group_continues_without_its_first_caller() {
        let combiner = Combiner::new(Sums);
        let mut first = Box::pin(combiner.submit(0, 1));
        // One after the other: they are on the same.
        let mut later = [(); 2].map(|()| Box::pin(combiner.submit(0, 2)));
        assert!(first.as_mut().now_or_never().is_none(), "its group is under way");
        for waiting in &mut later {
            assert!(waiting.as_mut().now_or_never().is_none());
        }
        drop(first);
        let outcomes = join_all(later).await;
        let outcomes: Vec<_> = outcomes.into_iter().map(Result::ok).collect();
        assert_eq!(outcomes, [Some((1, 3)), Some((1, 5))]);
    }

    #[tokio::test]
    async fn a_panic_ends_its_group_only() {
        let combiner = Combiner::new(Sums);
        let outcomes = at_once(&combiner, &[1, 2, -1, 3, 4]).await;
        assert_eq!(outcomes, [Some((1, 1)), None, None, None, Some((1, 4))]);
        assert_eq!(at_once(&combiner, &[1]).await, [Some((1, 1))]);
    }
}
