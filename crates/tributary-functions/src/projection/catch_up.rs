//! Waiting until projections have applied the writes that a caller knows.
//!
//! # When a projection has applied a write
//!
//! *Given*: (a) the host writes the position of a lease only after a batch that succeeded; (b) the position is a
//! number (LSN) of the source's physical partition, and so is that of a write in the caller's session; (c) a
//! partition has its changes in the order of these numbers. *Claim*: a write has reached the copies, or is a dead
//! letter, when the position of its lease is not below it.
//!
//! - *Writes without a change*: no change in the feed follows a delete, so the position stays below its number. A
//!   wait therefore also looks at the feed, in the latest committed state: with no change behind the position
//!   there is nothing to apply. A first change after the write proves nothing: it may stand for the write, since
//!   the feed has the latest version of each item.
//! - *Forged writes*: any caller may write any number into its token. A number is believed that this instance has
//!   had in an answer of the store, or that is not above a lease. Otherwise a look that begins after the request
//!   has come decides: when the latest committed state lacks the number, the wait ends. So does one whose
//!   partition has no lease.
//! - *Chains*: a rename updates items, whose changes update copies of these. The caller knows no numbers of the
//!   second writes. So when the first projection has applied the caller's writes, the second one has to reach the
//!   last write of its source at this moment, in each partition.
//! - *A rename that continues in slices* is acknowledged before its end. Its reader does not wait for later
//!   slices.
//! - *A split*: the ids of the children are not those of the caller's session, and the leases of the parent go.
//!   Until then a look says nothing. Afterwards the wait for a write before the split ends at once.
//! - *Two instances* share nothing: each reads the leases.
//! - *An eager projection* has applied most writes before the answer that has their token (`eager.rs`).
//!
//! The copies may be read from a replica that is behind the projection's write, whose position no caller knows.
//! So a caller with a write in the source reads them in the latest committed state, unless nothing was to be
//! waited for: then its token has the positions of the copies.
//!
//! *Bounds*: a time limit for each wait; the budget of its request; at most one read of a lease in a quarter of
//! the trigger's poll delay, and one look behind a position in 20 ms, for all waits of an instance together;
//! [`MAX_WAITS`] at a time. Callers are anonymous, so none can be given a share. Instead the oldest waits give
//! way to new ones, and each has its first look before it takes a place: a forged write takes none. An honest
//! wait lasts for a poll delay or less, so a caller that disturbs it has to begin 256 waits in this time, with
//! numbers that exist.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
    sync::{Arc, Mutex as StdMutex},
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until, timeout},
};

use super::{
    leases::{Lease, ProjectionLeases},
    registry::RegisteredProjection,
};
use crate::cosmos::{FeedHead, Session, SessionPosition, StoreError};
use crate::lock::lock;

const MAX_WAITS: usize = 256;

/// The bounds of the time for which waits use a lease that another wait has read.
const MIN_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_millis(500);

const CONCURRENT_LOOKS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyFreshness {
    Unconcerned,
    InSession,
    UpToDate,
    Behind,
}

impl RegisteredProjection {
    fn writes<'a>(&self, session: &'a Session) -> Vec<&'a SessionPosition> {
        let container = self.container_id();
        session.of_container(container).filter(|write| write.written > 0).collect()
    }

    /// Returns the number of the last of these writes that the projection is to be waited for; 0 if none.
    fn awaited(&self, write: &SessionPosition) -> u64 {
        if self.is_eager { write.unapplied } else { write.written }
    }

    fn pause(&self) -> Duration {
        (self.poll_delay / 4).clamp(MIN_PAUSE, MAX_PAUSE)
    }
}

#[derive(Clone)]
pub(super) struct CatchUp(Arc<Waits>);

struct Waits {
    leases: ProjectionLeases,
    places: Places,
    known: StdMutex<HashMap<&'static str, Arc<Mutex<KnownLeases>>>>,
    followed: StdMutex<HashMap<[&'static str; 2], Arc<Mutex<Followed>>>>,
}

type Places = StdMutex<BTreeSet<u64>>;

struct Place<'a> {
    places: &'a Places,
    number: u64,
}

impl<'a> Place<'a> {
    fn take(places: &'a Places) -> Self {
        let mut waits = lock(places);
        let number = waits.last().map_or(0, |last| last + 1);
        waits.insert(number);
        Self { places, number }
    }

    fn gives_way(&self) -> bool {
        let waits = lock(self.places);
        waits.range(self.number..).nth(MAX_WAITS).is_some()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(self.places).remove(&self.number);
    }
}

type KnownLeases = HashMap<String, KnownLease>;

struct KnownLease {
    lease: Lease,
    read_at: Instant,
    /// The beginning of the last look at the feed behind this position.
    looked_at: Option<Instant>,
    applied: u64,
}

impl KnownLease {
    fn new(lease: Lease, before: Option<Self>) -> Self {
        let same = before.as_ref().filter(|it| it.lease.continuation == lease.continuation);
        let looked_at = same.and_then(|known| known.looked_at);
        let applied = lease.lsn().max(before.map(|known| known.applied)).unwrap_or_default();
        Self { lease, read_at: Instant::now(), looked_at, applied }
    }

    async fn look(&mut self, projection: &RegisteredProjection) -> Result<(), StoreError> {
        // Meanwhile others come that share the look.
        if let Some(last) = self.looked_at {
            sleep_until(last + MIN_PAUSE).await;
        }
        let begun = Instant::now();
        if let Some(FeedHead { last_lsn, next, .. }) = look(projection, &self.lease).await? {
            self.looked_at = Some(begun);
            if next.is_none() {
                // Nothing is left behind the position.
                self.applied = self.applied.max(last_lsn);
            }
        }
        Ok(())
    }
}

/// Of two projections of a chain: the writes in the source of the first whose effects the second has applied.
#[derive(Default)]
struct Followed {
    /// Their numbers, by partition.
    up_to: HashMap<String, u64>,
    /// The last look at all partitions of the second source, and the last writes in those with changes left.
    looked: Option<(Instant, Vec<(String, u64)>)>,
}

impl CatchUp {
    pub(super) fn new(leases: &ProjectionLeases) -> Self {
        Self(Arc::new(Waits {
            leases: leases.clone(),
            places: Places::default(),
            known: StdMutex::default(),
            followed: StdMutex::default(),
        }))
    }

    pub(super) async fn wait(
        &self,
        chain: &[&RegisteredProjection],
        session: &Session,
        limit: Duration,
    ) -> CopyFreshness {
        let writes: Vec<_> = chain.iter().map(|projection| projection.writes(session)).collect();
        if writes.iter().all(Vec::is_empty) {
            return CopyFreshness::Unconcerned;
        }
        let is_applied =
            |(projection, writes): (&&RegisteredProjection, &Vec<&SessionPosition>)| {
                writes.iter().all(|write| projection.awaited(write) == 0)
            };
        // What the first of a chain has applied is still to be followed.
        let begins_chain = writes.iter().rev().skip(1).any(|writes| !writes.is_empty());
        if !begins_chain && chain.iter().zip(&writes).all(is_applied) {
            return CopyFreshness::InSession;
        }
        match timeout(limit, self.follow(chain, session)).await {
            Ok(Ok(true)) => return CopyFreshness::UpToDate,
            Ok(Err(StoreError { reason, .. })) => {
                tracing::warn!(%reason, "The positions of projections cannot be read");
            }
            Ok(Ok(false)) | Err(_) => {}
        }
        CopyFreshness::Behind
    }

    /// Returns false if one of the writes has not happened, or the wait has given way to others.
    async fn follow(
        &self,
        chain: &[&RegisteredProjection],
        session: &Session,
    ) -> Result<bool, StoreError> {
        let mut place = None;
        let mut before: Option<(&'static str, Vec<&SessionPosition>)> = None;
        for (left, projection) in (0..chain.len()).rev().zip(chain) {
            let own = projection.writes(session);
            for write in &own {
                let lsn = projection.awaited(write);
                let partition = write.position.partition();
                if (lsn > 0 || left > 0)
                    && !self.reach(projection, partition, (lsn, write.written), &mut place).await?
                {
                    return Ok(false);
                }
            }
            if let Some((first, positions)) = before
                && !self.reach_effects(first, projection, &positions, &mut place).await?
            {
                return Ok(false);
            }
            before = Some((projection.function(), own)).filter(|(_, own)| !own.is_empty());
        }
        Ok(true)
    }

    /// Returns false if no write has had the number `written`, or the wait has given way to others.
    async fn reach<'a>(
        &'a self,
        projection: &RegisteredProjection,
        partition: &str,
        (lsn, written): (u64, u64),
        place: &mut Option<Place<'a>>,
    ) -> Result<bool, StoreError> {
        let begun = Instant::now();
        let has_happened =
            |applied: u64| projection.sources().seen_lsn(partition).max(applied) >= written;
        if lsn == 0 && has_happened(0) {
            return Ok(true);
        }
        let known = entry(&self.0.known, projection.function());
        let pause = projection.pause();
        loop {
            let mut known = known.lock().await;
            let is_done = |lease: &KnownLease| lease.applied >= lsn && has_happened(lease.applied);
            let is_fresh = |lease: &KnownLease| is_done(lease) || lease.read_at.elapsed() < pause;
            if !known.get(partition).is_some_and(is_fresh) {
                let (function, sources) = (projection.function(), projection.sources());
                let lease = self.0.leases.of_partition(function, sources, partition).await?;
                let before = known.remove(partition);
                // The partition has been split, its trigger has never run, or it is forged.
                let Some(lease) = lease else { return Ok(false) };
                known.insert(partition.to_owned(), KnownLease::new(lease, before));
            }
            let Some(lease) = known.get_mut(partition) else { return Ok(false) };
            let is_due = lease.looked_at.is_none_or(|at| {
                // What was next may have been deleted since then.
                let is_old = at.elapsed() >= projection.poll_delay;
                is_old || (at < begun && !has_happened(lease.applied))
            });
            if !is_done(lease) && is_due {
                lease.look(projection).await?;
            }
            if is_done(lease) {
                return Ok(true);
            }
            if !has_happened(lease.applied) && lease.looked_at.is_some() {
                return Ok(false);
            }
            let next = lease.read_at + pause;
            drop(known);
            let place = place.get_or_insert_with(|| Place::take(&self.0.places));
            sleep_until(next).await;
            if place.gives_way() {
                return Ok(false);
            }
        }
    }

    async fn reach_effects<'a>(
        &'a self,
        first: &'static str,
        projection: &RegisteredProjection,
        writes: &[&SessionPosition],
        place: &mut Option<Place<'a>>,
    ) -> Result<bool, StoreError> {
        let begun = Instant::now();
        let shared = entry(&self.0.followed, [first, projection.function()]);
        let mut followed = shared.lock().await;
        let is_followed = |write: &&SessionPosition| {
            followed.up_to.get(write.position.partition()).is_some_and(|lsn| *lsn >= write.written)
        };
        if writes.iter().all(is_followed) {
            return Ok(true);
        }
        let looked = followed.looked.take_if(|(at, _)| *at >= begun);
        let looked = match looked {
            Some(looked) => looked,
            None => (Instant::now(), self.last_writes(projection).await?),
        };
        followed.looked = Some(looked.clone());
        drop(followed);
        for (partition, lsn) in looked.1 {
            if !self.reach(projection, &partition, (lsn, lsn), place).await? {
                return Ok(false);
            }
        }
        let mut followed = shared.lock().await;
        for write in writes {
            let lsn = followed.up_to.entry(write.position.partition().to_owned()).or_default();
            *lsn = write.written.max(*lsn);
        }
        Ok(true)
    }

    async fn last_writes(
        &self,
        projection: &RegisteredProjection,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let rows = self.0.leases.of(projection.function(), projection.sources()).await?;
        let looks = rows.into_iter().map(|lease| async move {
            // A number that nobody knows is never reached.
            let Ok(lease) = lease else { return Ok(Some((String::new(), u64::MAX))) };
            let head = look(projection, &lease).await?;
            let last = head.map_or(Some(u64::MAX), |head| head.next.map(|_| head.last_lsn));
            Ok::<_, StoreError>(last.map(|last_lsn| (lease.token, last_lsn)))
        });
        let heads = stream::iter(looks).buffer_unordered(CONCURRENT_LOOKS);
        heads.try_filter_map(|head| async { Ok(head) }).try_collect().await
    }
}

fn entry<K: Eq + Hash, V: Default>(map: &StdMutex<HashMap<K, Arc<V>>>, key: K) -> Arc<V> {
    Arc::clone(lock(map).entry(key).or_default())
}

/// Returns `None` if nothing can be said: an old lease has no range, and after a split one child answers for both.
async fn look(
    projection: &RegisteredProjection,
    lease: &Lease,
) -> Result<Option<FeedHead>, StoreError> {
    let Some(range) = &lease.range else { return Ok(None) };
    let monitored = projection.sources().latest_committed();
    let head = monitored.feed_head(range, lease.continuation.as_deref()).await?;
    Ok(Some(head).filter(|head| head.partition == lease.token))
}
