//! Waiting until projections have applied the writes that a caller knows.
//!
//! # When a projection has applied a write
//!
//! *Given*: (a) the host writes the position of a lease only after a batch that succeeded; (b) the position
//! is a number (LSN) of the source's physical partition, and so is that of a write in the caller's session;
//! (c) a partition has its changes in the order of these numbers. *Claim*: a write has reached the copies, or
//! is a dead letter, when the position of its lease is not below it.
//!
//! - *Writes without a change*: a delete has a number, and no change follows in the feed. Then the position
//!   stays below it until another change comes. So a waiting caller also looks at the feed: with no change
//!   behind the position there is nothing to apply. The look asks for the latest committed state, and a
//!   state without the write proves nothing. A first change after the write proves nothing, either: the feed
//!   has the latest version of each item, so this change may stand for the write.
//! - *Chains*: a rename updates items, whose changes update copies of these. The caller knows no numbers of
//!   the second writes. So when the first projection has applied the caller's writes, the second one has to
//!   reach the last write of its source at this moment, in each partition. An instance remembers up to where
//!   that is so.
//! - *A rename that continues in slices* is acknowledged before its end. Its reader does not wait for later
//!   slices.
//! - *A split*: the ids of the children are not those of the caller's session. The wait for a write before
//!   the split ends with its time limit; the token of the next command has the new ids.
//! - *Two instances* share nothing: each reads the leases.
//! - *An eager projection* has applied most writes before the answer that has their token. The token says up to
//!   where it is to be waited for (`eager.rs`).
//!
//! The copies may be read from a replica that is behind the projection's write, whose position no caller
//! knows. So a caller with a write in the source reads them in the latest committed state, unless nothing was
//! to be waited for: then its token has the positions of the copies.
//!
//! *Bounds*: a time limit for each wait; a number of waits at a time, beyond which none begins; at most one
//! read of a lease in [`MIN_INTERVAL`], for all waits of an instance together.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex as StdMutex, PoisonError},
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::{
    sync::{Mutex, Semaphore},
    time::{Instant, sleep, timeout},
};

use super::{
    leases::{Lease, ProjectionLeases},
    registry::RegisteredProjection,
};
use crate::cosmos::{FeedHead, Session, SessionPosition, StoreError};

const MAX_WAITS: usize = 256;

/// The time for which waits use a lease that another wait has read.
const MIN_INTERVAL: Duration = Duration::from_millis(20);

const MAX_PAUSE: Duration = Duration::from_millis(250);

/// The age of the list of leases after which it is read again for a partition that it lacks.
const MAX_LIST_AGE: Duration = Duration::from_secs(1);

/// The partitions of a source whose last write is looked up at a time.
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
}

#[derive(Clone)]
pub(super) struct CatchUp(Arc<Waits>);

struct Waits {
    leases: ProjectionLeases,
    permits: Semaphore,
    known: StdMutex<HashMap<&'static str, Arc<Mutex<KnownLeases>>>>,
    /// For two projections of a chain: the writes in the source of the first whose effects the second has
    /// applied, as numbers by partition.
    followed: StdMutex<HashMap<[&'static str; 2], HashMap<String, u64>>>,
}

#[derive(Default)]
struct KnownLeases {
    listed_at: Option<Instant>,
    by_partition: HashMap<String, KnownLease>,
}

#[derive(Clone)]
struct KnownLease {
    lease: Lease,
    read_at: Instant,
    applied: u64,
}

impl KnownLease {
    fn new(lease: Lease, before: Option<&Self>) -> Self {
        let applied = lease.lsn().max(before.map(|before| before.applied)).unwrap_or_default();
        Self { lease, read_at: Instant::now(), applied }
    }
}

impl CatchUp {
    pub(super) fn new(leases: &ProjectionLeases) -> Self {
        Self(Arc::new(Waits {
            leases: leases.clone(),
            permits: Semaphore::new(MAX_WAITS),
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
        let Ok(_permit) = self.0.permits.try_acquire() else { return CopyFreshness::Behind };
        match timeout(limit, self.follow(chain, session)).await {
            Ok(Ok(())) => return CopyFreshness::UpToDate,
            Ok(Err(StoreError { reason, .. })) => {
                tracing::warn!(%reason, "The positions of projections cannot be read");
            }
            Err(_) => {}
        }
        CopyFreshness::Behind
    }

    async fn follow(
        &self,
        chain: &[&RegisteredProjection],
        session: &Session,
    ) -> Result<(), StoreError> {
        let mut before: Option<(&'static str, Vec<&SessionPosition>)> = None;
        for projection in chain {
            let own = projection.writes(session);
            for write in &own {
                let lsn = projection.awaited(write);
                if lsn > 0 {
                    self.reach(projection, write.position.partition(), lsn).await?;
                }
            }
            if let Some((first, positions)) = before {
                self.reach_effects([first, projection.function()], projection, &positions).await?;
            }
            before = Some((projection.function(), own)).filter(|(_, own)| !own.is_empty());
        }
        Ok(())
    }

    async fn reach(
        &self,
        projection: &RegisteredProjection,
        partition: &str,
        lsn: u64,
    ) -> Result<(), StoreError> {
        let known = self.known(projection.function());
        let mut pause = MIN_INTERVAL;
        loop {
            match self.lease(&known, projection, partition, lsn).await? {
                Some(lease) if lease.applied >= lsn => return Ok(()),
                // An ordinary change arrives meanwhile, and a look costs more than a read of the lease.
                Some(KnownLease { lease, .. }) if pause >= 3 * MIN_INTERVAL => {
                    // Nothing is left behind the position.
                    if let Some(FeedHead { last_lsn, next: None }) =
                        look(projection, &lease).await?
                        && last_lsn >= lsn
                    {
                        if let Some(known) = known.lock().await.by_partition.get_mut(partition) {
                            known.applied = known.applied.max(last_lsn);
                        }
                        return Ok(());
                    }
                }
                _ => {}
            }
            sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    async fn reach_effects(
        &self,
        pair: [&'static str; 2],
        projection: &RegisteredProjection,
        writes: &[&SessionPosition],
    ) -> Result<(), StoreError> {
        let is_followed = {
            let followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
            let known = |write: &&SessionPosition| {
                let lsn = followed.get(&pair)?.get(write.position.partition())?;
                Some(*lsn >= write.written)
            };
            writes.iter().all(|write| known(write).unwrap_or_default())
        };
        if is_followed {
            return Ok(());
        }
        let rows = self.0.leases.of(projection.function(), projection.sources()).await?;
        let looks = rows.into_iter().filter_map(Result::ok).map(|lease| async move {
            let head = look(projection, &lease).await?;
            Ok::<_, StoreError>((lease.token, head))
        });
        let heads: Vec<_> =
            stream::iter(looks).buffer_unordered(CONCURRENT_LOOKS).try_collect().await?;
        for (partition, head) in heads {
            if let Some(FeedHead { last_lsn, next: Some(_) }) = head {
                self.reach(projection, &partition, last_lsn).await?;
            }
        }
        let mut followed = self.0.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = followed.entry(pair).or_default();
        for write in writes {
            let lsn = followed.entry(write.position.partition().to_owned()).or_default();
            *lsn = write.written.max(*lsn);
        }
        Ok(())
    }

    /// Returns the lease of a partition: as it is known, if it has reached the number or was just read.
    /// Waits of the same projection share the reads.
    async fn lease(
        &self,
        known: &Mutex<KnownLeases>,
        projection: &RegisteredProjection,
        partition: &str,
        lsn: u64,
    ) -> Result<Option<KnownLease>, StoreError> {
        let mut known = known.lock().await;
        if let Some(lease) = known.by_partition.get(partition) {
            if lease.applied >= lsn || lease.read_at.elapsed() < MIN_INTERVAL {
                return Ok(Some(lease.clone()));
            }
            if let Some(read) = self.0.leases.read(&lease.lease.id).await? {
                let read = KnownLease::new(read, Some(lease));
                known.by_partition.insert(partition.to_owned(), read.clone());
                return Ok(Some(read));
            }
            known.by_partition.remove(partition);
        } else if known.listed_at.is_some_and(|at| at.elapsed() < MAX_LIST_AGE) {
            return Ok(None);
        }
        let rows = self.0.leases.of(projection.function(), projection.sources()).await?;
        let listed = rows.into_iter().filter_map(Result::ok).map(|lease| {
            let before = known.by_partition.get(&lease.token);
            (lease.token.clone(), KnownLease::new(lease, before))
        });
        known.by_partition = listed.collect();
        known.listed_at = Some(Instant::now());
        Ok(known.by_partition.get(partition).cloned())
    }

    fn known(&self, function: &'static str) -> Arc<Mutex<KnownLeases>> {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(function).or_default())
    }
}

/// Reads the first change behind the position of a lease. A lease of an old version of the trigger has no
/// range to read.
async fn look(
    projection: &RegisteredProjection,
    lease: &Lease,
) -> Result<Option<FeedHead>, StoreError> {
    let Some(range) = &lease.range else { return Ok(None) };
    let monitored = projection.sources().latest_committed();
    monitored.feed_head(range, lease.continuation.as_deref()).await.map(Some)
}
