//! Replicas that lag: reads that see a past state.
//!
//! Azure keeps several replicas of a physical partition. With Session consistency a read asks one of
//! them, and accepts its state unless the request's session token names a newer write of that
//! partition. A client knows only the tokens of its own requests, so it can miss the last write of
//! another client. Source: <https://learn.microsoft.com/azure/cosmos-db/consistency-levels>.
//!
//! Here a replica is a second region of the backend, which the account does not show. Writes go to it
//! in their order, and wait in its queue while it is paused. A read is sent to it first. If the session
//! token asks for more, the backend refuses the read with 404 and sub-status 1002, and the newest state
//! answers. Writes, their preconditions, and the change feed use no replica.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use azure_core::http::headers::HeaderName;
use azure_core::http::{Request, Url};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::account::Account;
use super::emulator::{Emulator, Region, Response};
use super::operation::{ContainerPath, DataRequest, RequestKind, header};
use crate::chaos::{Chaos, ChaosKind, Random};
use crate::lock;

const CONSISTENCY_STRATEGY: HeaderName =
    HeaderName::from_static("x-ms-cosmos-read-consistency-strategy");
const CONSISTENCY_LEVEL: HeaderName = HeaderName::from_static("x-ms-consistency-level");
const SESSION_TOKEN: HeaderName = HeaderName::from_static("x-ms-session-token");
const SUB_STATUS: HeaderName = HeaderName::from_static("x-ms-substatus");

/// The number of the one region in session tokens.
const REGION_ID: u64 = 0;

/// The longest wait of a freeze for the writes under way, which never wait themselves.
const MAX_FREEZE_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Replicas {
    account: Account,
    /// Each with the name of its container.
    frozen: Mutex<Vec<(String, Region)>>,
    n_frozen: AtomicUsize,
    lagging: Option<Arc<Lagging>>,
    /// Writes share it, so that no replica shows half of a batch.
    writes: RwLock<()>,
}

/// A replica of one container that gets no writes until this value is dropped.
#[derive(Debug)]
pub struct FrozenReplica {
    replicas: Arc<Replicas>,
    replica: Region,
}

impl Drop for FrozenReplica {
    fn drop(&mut self) {
        self.replicas.thaw(&self.replica);
    }
}

impl Region {
    pub(super) fn replica(name: &str, base_url: &Url) -> Option<Self> {
        let mut url = base_url.clone();
        let host = format!("{}.localhost", name.replace(' ', "-").to_lowercase());
        url.set_host(Some(&host)).ok()?;
        Some(Self { name: name.to_owned(), url })
    }

    pub(super) fn request(&self, request: &Request) -> Request {
        let mut addressed = request.clone();
        let url = addressed.url_mut();
        let _ = url.set_host(self.url.host_str());
        addressed
    }
}

impl Replicas {
    pub(super) fn new(account: Account, lagging: Option<Lagging>) -> Self {
        Self {
            account,
            frozen: Mutex::default(),
            n_frozen: AtomicUsize::new(0),
            lagging: lagging.map(Arc::new),
            writes: RwLock::new(()),
        }
    }

    /// Returns a guard that a write holds while it is carried out.
    pub(super) async fn write(&self) -> RwLockReadGuard<'_, ()> {
        self.writes.read().await
    }

    /// Returns a guard that keeps out all writes.
    pub(super) async fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.writes.write().await
    }

    /// Returns the replicas that a request may see, the one with the longest lag first.
    pub(super) async fn candidates(
        &self,
        DataRequest { kind, container, request, .. }: DataRequest<'_>,
    ) -> Candidates<'_> {
        if !matches!(kind, RequestKind::Read | RequestKind::Query | RequestKind::ReadFeed)
            || demands_newest(request)
        {
            return Candidates::default();
        }
        let frozen: Vec<_> = lock(&self.frozen)
            .iter()
            .filter(|(frozen, _)| *frozen == container.container)
            .map(|(_, replica)| replica.clone())
            .collect();
        if !frozen.is_empty() {
            return Candidates { replicas: frozen, by_chance: None };
        }
        let Some(lagging) = &self.lagging else {
            return Candidates::default();
        };
        if lagging.is_due() {
            let _alone = self.alone().await;
            lagging.refresh(&self.account.backend);
        }
        Candidates { replicas: lagging.roll(), by_chance: Some(&lagging.chaos) }
    }

    /// Begins to split a physical partition, and returns its end. The backend copies the data of any region into
    /// the new partitions, so the replicas that lag at random get all writes until the end.
    pub(super) async fn split(
        &self,
        path: &ContainerPath,
        partition: u32,
        locked: Duration,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (backend, lagging) = (self.account.backend.clone(), self.lagging.clone());
        let alone = self.alone().await;
        if let Some(lagging) = &lagging {
            lagging.catch_up(&backend);
        }
        backend.split(path, partition, locked);
        drop(alone);
        let path = path.clone();
        async move {
            backend.split_done(&path, partition).await;
            if let Some(lagging) = lagging {
                lagging.fall_behind();
            }
        }
    }

    fn thaw(&self, replica: &Region) {
        lock(&self.frozen).retain(|(_, frozen)| frozen.name != replica.name);
        if let Err(error) = self.account.backend.remove_region(&replica.name) {
            tracing::warn!(%error, "a frozen replica could not be removed");
        }
    }
}

#[expect(clippy::expect_used, reason = "a test whose premise fails is to fail")]
pub(super) fn freeze(replicas: &Arc<Replicas>, container: &str) -> FrozenReplica {
    // Not awaited, so that a test can freeze between two lines. A write never waits while it has the
    // lock.
    let began = Instant::now();
    let _alone = loop {
        if let Ok(alone) = replicas.writes.try_write() {
            break alone;
        }
        assert!(began.elapsed() < MAX_FREEZE_WAIT, "a write does not end, so nothing is frozen");
        std::thread::yield_now();
    };
    let number = replicas.n_frozen.fetch_add(1, Ordering::Relaxed);
    let replica = Region::replica(&format!("Frozen {number}"), &replicas.account.base_url);
    let frozen = replica.and_then(|replica| {
        replicas.account.backend.add_region(&replica).ok()?;
        replicas.account.backend.pause(&replica.name);
        Some(replica)
    });
    let replica = frozen.expect("a replica can be frozen unless a partition splits");
    lock(&replicas.frozen).push((container.to_owned(), replica.clone()));
    FrozenReplica { replicas: Arc::clone(replicas), replica }
}

#[derive(Debug, Default)]
pub(super) struct Candidates<'a> {
    pub(super) replicas: Vec<Region>,
    /// Set if chaos has chosen them.
    pub(super) by_chance: Option<&'a Chaos>,
}

/// Returns true if the request asks for the latest committed state.
pub(super) fn demands_newest(request: &Request) -> bool {
    let is = |name: &HeaderName, wanted: &[&str]| {
        let value = header(request, name);
        value.is_some_and(|value| wanted.iter().any(|name| value.eq_ignore_ascii_case(name)))
    };
    is(&CONSISTENCY_STRATEGY, &["LatestCommitted", "GlobalStrong"])
        || is(&CONSISTENCY_LEVEL, &["Strong", "BoundedStaleness"])
}

/// Returns true for a replica's answer that the client may get. Otherwise the newest state answers.
pub(super) fn is_usable(response: &Response) -> bool {
    let sub_status = response.header(&SUB_STATUS);
    match response.status {
        200 | 304 => true,
        404 => sub_status.is_none_or(|sub_status| sub_status == "0"),
        _ => false,
    }
}

/// Replaces the replica by the account's one region in the session token of an answer.
pub(super) fn hide_replica(response: &mut Response) {
    let Some(tokens) = response.header(&SESSION_TOKEN) else {
        return;
    };
    let of_region = |token: &str| {
        // `<partition>:<version>#<LSN>#<region>=<LSN>`
        let mut parts = token.splitn(3, '#');
        let version = parts.next()?;
        let lsn = parts.next()?;
        Some(format!("{version}#{lsn}#{REGION_ID}={lsn}"))
    };
    let tokens: Option<Vec<_>> = tokens.split(',').map(of_region).collect();
    if let Some(tokens) = tokens {
        response.headers.insert(SESSION_TOKEN, tokens.join(","));
    }
}

/// The lag of each replica at most, in milliseconds.
const MAX_LAG_MS: [u64; 4] = [20, 100, 500, 2_000];

#[derive(Debug)]
pub(super) struct Lagging {
    chaos: Chaos,
    /// One for each of [`MAX_LAG_MS`].
    pub(super) replicas: Vec<Region>,
    moments: Mutex<Moments>,
    /// The number of splits under way: a split begins with the data of one region.
    caught_up: AtomicUsize,
}

#[derive(Debug)]
struct Moments {
    random: Random,
    /// For each replica the moment that it shows, and the end of that state.
    of: Vec<(Instant, Instant)>,
}

impl Lagging {
    pub(super) fn from_chaos(chaos: Option<&Chaos>, base_url: &Url) -> Option<Self> {
        let chaos = chaos.filter(|chaos| chaos.spec().probability(ChaosKind::Stale) > 0.0)?.clone();
        let replica = |number| Region::replica(&format!("Replica {number}"), base_url);
        let replicas: Vec<_> = (0..MAX_LAG_MS.len()).filter_map(replica).collect();
        let now = Instant::now();
        let moments =
            Moments { random: chaos.fork(ChaosKind::Stale), of: vec![(now, now); replicas.len()] };
        let moments = Mutex::new(moments);
        Some(Self { chaos, replicas, moments, caught_up: AtomicUsize::new(0) })
    }

    fn is_due(&self) -> bool {
        let now = Instant::now();
        !self.chaos.is_stopped()
            && self.caught_up.load(Ordering::SeqCst) == 0
            && lock(&self.moments).of.iter().any(|(_, until)| *until <= now)
    }

    /// Lets each replica that is due show the present moment. The caller holds back writes.
    fn refresh(&self, backend: &Emulator) {
        if self.caught_up.load(Ordering::SeqCst) > 0 {
            return;
        }
        let now = Instant::now();
        let Moments { random, of } = &mut *lock(&self.moments);
        for ((replica, most_ms), (since, until)) in self.replicas.iter().zip(MAX_LAG_MS).zip(of) {
            if *until <= now {
                backend.resume(&replica.name);
                backend.pause(&replica.name);
                *since = now;
                *until = now + Duration::from_millis(1 + random.below(most_ms));
            }
        }
    }

    /// Returns the replicas that a read may see, if chaos decides so: the one with the longest lag
    /// first.
    fn roll(&self) -> Vec<Region> {
        if self.caught_up.load(Ordering::SeqCst) > 0 || self.chaos.roll(ChaosKind::Stale).is_none()
        {
            return Vec::new();
        }
        let moments = lock(&self.moments);
        let mut order: Vec<_> = moments.of.iter().zip(&self.replicas).collect();
        order.sort_by_key(|((since, _), _)| *since);
        order.into_iter().map(|(_, replica)| replica.clone()).collect()
    }

    /// Delivers all writes to all replicas, also those to come. The caller holds back writes.
    fn catch_up(&self, backend: &Emulator) {
        self.caught_up.fetch_add(1, Ordering::SeqCst);
        for replica in &self.replicas {
            backend.resume(&replica.name);
        }
    }

    fn fall_behind(&self) {
        let now = Instant::now();
        lock(&self.moments).of.fill((now, now));
        self.caught_up.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The number of writes to the account from one split to the next at most.
const MAX_WRITES_BETWEEN_SPLITS: u64 = 2_000;
/// The time, in milliseconds, for which a partition answers 410 while it splits, at most. In Azure a
/// split takes much longer, but most of it in the background.
const MAX_LOCKED_MS: u64 = 100;

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
            left: chaos.spec().splits,
            writes: 1 + random.below(MAX_WRITES_BETWEEN_SPLITS),
            random,
        };
        Self { chaos, next: Mutex::new(next) }
    }

    /// Counts a write. If a split is due, a partition of the written container splits.
    pub(super) async fn after_write(&self, replicas: &Replicas, path: &ContainerPath) {
        let Some(mut random) = self.due() else { return };
        let partitions = replicas.account.backend.partitions(path);
        let Some(&partition) = partitions.get(random.index(partitions.len())) else { return };
        let locked = Duration::from_millis(random.below(MAX_LOCKED_MS));
        tokio::spawn(replicas.split(path, partition, locked).await);
        let (of, ms) = (&path.container, locked.as_millis());
        let what = format_args!("partition {partition} of {of}, locked for {ms} ms");
        self.chaos.note(ChaosKind::Split, what);
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
