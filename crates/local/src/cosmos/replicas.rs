//! Replicas that lag: reads that see a past state.
//!
//! Azure keeps several replicas of a physical partition. With Session consistency a read asks one of
//! them, and accepts its state unless the request's session token names a newer write of that
//! partition. A client knows only the tokens of its own requests, so it can miss the last write of
//! another client. Source: <https://learn.microsoft.com/azure/cosmos-db/consistency-levels>.
//!
//! Here a replica is a state of the store that was kept. A read is answered from it first. If the session
//! token asks for more, the store refuses the read with 404 and sub-status 1002, and the newest state
//! answers. Writes, their preconditions, and the change feed use no replica.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use cosmos_store::engine::{ContainerId, Engine, View};
use cosmos_store::http::{ItemsOperation, Kind};
use http::{Request, Response};

use super::store::Bytes;
use crate::chaos::{Chaos, ChaosKind, Random};
use crate::lock;

#[derive(Debug)]
pub(super) struct Replicas {
    engine: Engine,
    /// The names of containers, with their states.
    frozen: Mutex<Vec<(String, Weak<View>)>>,
    lagging: Option<Lagging>,
}

/// A replica of one container that gets no writes until this value is dropped.
#[derive(Debug)]
pub struct FrozenReplica {
    _state: Arc<View>,
}

impl Replicas {
    pub(super) fn new(engine: Engine, chaos: Option<&Chaos>) -> Self {
        let lagging = chaos.and_then(|chaos| Lagging::from_chaos(chaos, &engine));
        Self { engine, frozen: Mutex::default(), lagging }
    }

    pub(super) fn freeze(&self, container: &str) -> FrozenReplica {
        let state = Arc::new(self.engine.view());
        let mut frozen = lock(&self.frozen);
        frozen.retain(|(_, state)| state.strong_count() > 0);
        frozen.push((container.to_owned(), Arc::downgrade(&state)));
        FrozenReplica { _state: state }
    }

    /// Returns the states that a request may see, the oldest one first, and the chaos that has chosen them.
    pub(super) fn candidates(
        &self,
        operation: &ItemsOperation,
        request: &Request<Bytes>,
    ) -> (Vec<View>, Option<&Chaos>) {
        if !matches!(operation.kind, Kind::Read | Kind::Query | Kind::ReadFeed)
            || demands_newest(request)
        {
            return (Vec::new(), None);
        }
        let [_, container] = &operation.names;
        let frozen = lock(&self.frozen);
        let frozen = frozen.iter().filter(|(name, _)| name == container);
        let states: Vec<View> =
            frozen.filter_map(|(_, state)| Some((*state.upgrade()?).clone())).collect();
        match &self.lagging {
            Some(lagging) if states.is_empty() => {
                (lagging.roll(&self.engine), Some(&lagging.chaos))
            }
            _ => (states, None),
        }
    }
}

fn demands_newest(request: &Request<Bytes>) -> bool {
    let is = |name: &str, wanted: &[&str]| {
        let value = request.headers().get(name).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| wanted.iter().any(|name| value.eq_ignore_ascii_case(name)))
    };
    is("x-ms-cosmos-read-consistency-strategy", &["LatestCommitted", "GlobalStrong"])
        || is("x-ms-consistency-level", &["Strong", "BoundedStaleness"])
}

/// Returns true for a replica's answer that the client may get. Otherwise the newest state answers.
pub(super) fn is_usable(answer: &Response<Bytes>) -> bool {
    let sub_status = answer.headers().get("x-ms-substatus");
    match answer.status().as_u16() {
        200 | 304 => true,
        404 => sub_status.is_none_or(|sub_status| sub_status == "0"),
        _ => false,
    }
}

/// The lag of each replica at most, in milliseconds.
const MAX_LAG_MS: [u64; 4] = [20, 100, 500, 2_000];

#[derive(Debug)]
struct Lagging {
    chaos: Chaos,
    /// Random numbers, and a replica for each of [`MAX_LAG_MS`].
    replicas: Mutex<(Random, Vec<Replica>)>,
}

#[derive(Clone, Debug)]
struct Replica {
    state: View,
    since: Instant,
    until: Instant,
}

impl Lagging {
    fn from_chaos(chaos: &Chaos, engine: &Engine) -> Option<Self> {
        if chaos.spec().probability(ChaosKind::Stale) <= 0.0 {
            return None;
        }
        let now = Instant::now();
        let replica = Replica { state: engine.view(), since: now, until: now };
        let replicas = (chaos.fork(ChaosKind::Stale), vec![replica; MAX_LAG_MS.len()]);
        Some(Self { chaos: chaos.clone(), replicas: Mutex::new(replicas) })
    }

    /// Returns the states that a read may see, if chaos decides so: the oldest one first.
    fn roll(&self, engine: &Engine) -> Vec<View> {
        if self.chaos.roll(ChaosKind::Stale).is_none() {
            return Vec::new();
        }
        let now = Instant::now();
        let (random, replicas) = &mut *lock(&self.replicas);
        for (replica, most_ms) in replicas.iter_mut().zip(MAX_LAG_MS) {
            if replica.until <= now {
                let until = now + Duration::from_millis(1 + random.below(most_ms));
                *replica = Replica { state: engine.view(), since: now, until };
            }
        }
        let mut order: Vec<_> = replicas.iter().collect();
        order.sort_by_key(|replica| replica.since);
        order.into_iter().map(|replica| replica.state.clone()).collect()
    }
}

/// The number of writes to the account from one split to the next at most.
const MAX_WRITES_BETWEEN_SPLITS: u64 = 2_000;
/// The time, in milliseconds, for which a container answers 410 while a partition of it splits, at most. In Azure
/// a split takes much longer, but most of it in the background.
const MAX_LOCKED_MS: u64 = 100;

#[derive(Debug)]
pub(super) struct Splits {
    chaos: Chaos,
    next: Mutex<Next>,
    /// The containers of which a partition splits.
    under_way: Mutex<Vec<ContainerId>>,
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
            left: chaos.spec().splits,
            writes: 1 + random.below(MAX_WRITES_BETWEEN_SPLITS),
            random,
        };
        Self { chaos, next: Mutex::new(next), under_way: Mutex::default() }
    }

    pub(super) fn is_splitting(&self, container: ContainerId) -> bool {
        lock(&self.under_way).contains(&container)
    }

    /// Counts a write. If a split is due, a partition of the written container splits.
    pub(super) fn after_write(self: &Arc<Self>, engine: &Engine, operation: &ItemsOperation) {
        let Some(mut random) = self.due() else { return };
        let container = operation.container;
        let partitions = engine.view().partitions(container);
        let Some(partition) = partitions.get(random.index(partitions.len())) else { return };
        let (partition, locked) = (partition.id, random.below(MAX_LOCKED_MS));
        let [_, name] = &operation.names;
        let what = format_args!("partition {partition} of {name}, locked for {locked} ms");
        self.chaos.note(ChaosKind::Split, what);
        lock(&self.under_way).push(container);
        let (splits, engine) = (Arc::clone(self), engine.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(locked)).await;
            // A container that has gone, or a partition that has split meanwhile, stays as it is.
            let _ = engine.split(container, partition).await;
            let mut under_way = lock(&splits.under_way);
            if let Some(place) = under_way.iter().position(|one| *one == container) {
                under_way.swap_remove(place);
            }
        });
    }

    fn due(&self) -> Option<Random> {
        if self.chaos.is_stopped() {
            return None;
        }
        let mut next = lock(&self.next);
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
