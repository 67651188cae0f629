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

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use azure_core::http::{Request, Url, headers::HeaderName};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{
    account::Account,
    backend::{Region, Response},
    lagging::Lagging,
    operation::RequestKind,
};
use crate::chaos::Chaos;

const CONSISTENCY_STRATEGY: HeaderName =
    HeaderName::from_static("x-ms-cosmos-read-consistency-strategy");
const CONSISTENCY_LEVEL: HeaderName = HeaderName::from_static("x-ms-consistency-level");
const SESSION_TOKEN: HeaderName = HeaderName::from_static("x-ms-session-token");
const SUB_STATUS: HeaderName = HeaderName::from_static("x-ms-substatus");

/// The number of the one region in session tokens.
const REGION_ID: u64 = 0;

/// The longest wait of a freeze for the writes under way, which never wait themselves.
const MAX_FREEZE_WAIT: Duration = Duration::from_secs(5);

/// The replicas of an account.
#[derive(Debug)]
pub(super) struct Replicas {
    account: Account,
    frozen: Mutex<Vec<Frozen>>,
    n_frozen: AtomicUsize,
    lagging: Option<Arc<Lagging>>,
    /// Writes share it, so that no replica shows half of a batch.
    writes: RwLock<()>,
}

#[derive(Debug)]
struct Frozen {
    container: String,
    replica: Region,
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
    /// Creates a replica of the account with this address.
    pub(super) fn replica(name: &str, base_url: &Url) -> Option<Self> {
        let mut url = base_url.clone();
        let host = format!("{}.localhost", name.replace(' ', "-").to_lowercase());
        url.set_host(Some(&host)).ok()?;
        Some(Self { name: name.to_owned(), url })
    }

    /// Returns the request, addressed to this region.
    pub(super) fn request(&self, request: &Request) -> Request {
        let mut url = self.url.clone();
        url.set_path(request.url().path());
        url.set_query(request.url().query());
        let mut addressed = Request::new(url, request.method());
        *addressed.headers_mut() = request.headers().clone();
        addressed.set_body(request.body().clone());
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
        kind: RequestKind,
        container: &str,
        request: &Request,
    ) -> Candidates<'_> {
        if !matches!(kind, RequestKind::Read | RequestKind::Query | RequestKind::ReadFeed)
            || demands_newest(request)
        {
            return Candidates::default();
        }
        let frozen: Vec<_> = self
            .frozen()
            .iter()
            .filter(|one| one.container == container)
            .map(|one| one.replica.clone())
            .collect();
        if !frozen.is_empty() {
            return Candidates { replicas: frozen, by_chance: None };
        }
        let Some(lagging) = &self.lagging else {
            return Candidates::default();
        };
        if lagging.is_due() {
            let _alone = self.alone().await;
            lagging.refresh(&*self.account.backend);
        }
        Candidates { replicas: lagging.roll(), by_chance: Some(lagging.chaos()) }
    }

    /// Delivers all writes to the replicas that lag at random, until the second part of the result is
    /// dropped. No write happens until its first part is dropped.
    pub(super) async fn catch_up(&self) -> (RwLockWriteGuard<'_, ()>, Option<CaughtUp>) {
        let alone = self.alone().await;
        let caught_up = self.lagging.as_ref().map(|lagging| {
            lagging.catch_up(&*self.account.backend);
            CaughtUp(lagging.clone())
        });
        (alone, caught_up)
    }

    fn frozen(&self) -> MutexGuard<'_, Vec<Frozen>> {
        self.frozen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn thaw(&self, replica: &Region) {
        self.frozen().retain(|one| one.replica.name != replica.name);
        if let Err(error) = self.account.backend.remove_region(&replica.name) {
            tracing::warn!(%error, "a frozen replica could not be removed");
        }
    }
}

/// Freezes a replica of a container in its present state.
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
    let container = container.to_owned();
    replicas.frozen().push(Frozen { container, replica: replica.clone() });
    FrozenReplica { replicas: Arc::clone(replicas), replica }
}

/// A guard that keeps the replicas caught up until it is dropped.
#[derive(Debug)]
pub(super) struct CaughtUp(Arc<Lagging>);

impl Drop for CaughtUp {
    fn drop(&mut self) {
        self.0.fall_behind();
    }
}

/// The replicas that a request may see.
#[derive(Debug, Default)]
pub(super) struct Candidates<'a> {
    pub(super) replicas: Vec<Region>,
    /// Set if chaos has chosen them.
    pub(super) by_chance: Option<&'a Chaos>,
}

/// Returns true if the request asks for the latest committed state.
pub(super) fn demands_newest(request: &Request) -> bool {
    let is = |name: &HeaderName, wanted: &[&str]| {
        let value = request.headers().get_optional_str(name);
        value.is_some_and(|value| wanted.iter().any(|one| value.eq_ignore_ascii_case(one)))
    };
    is(&CONSISTENCY_STRATEGY, &["LatestCommitted", "GlobalStrong"])
        || is(&CONSISTENCY_LEVEL, &["Strong", "BoundedStaleness"])
}

/// Returns true for a replica's answer that the client may get. Otherwise the newest state answers.
pub(super) fn is_usable(response: &Response) -> bool {
    let sub_status = response.headers.get_optional_str(&SUB_STATUS);
    match response.status {
        200 | 304 => true,
        404 => sub_status.is_none_or(|sub_status| sub_status == "0"),
        _ => false,
    }
}

/// Replaces the replica by the account's one region in the session token of an answer.
pub(super) fn hide_replica(response: &mut Response) {
    let Some(tokens) = response.headers.get_optional_str(&SESSION_TOKEN) else {
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
