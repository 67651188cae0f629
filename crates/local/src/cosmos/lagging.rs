//! Replicas that lag at random.
//!
//! Each replica shows the state of a past moment for a while, and then that of another moment. The
//! shortest lags matter most: a client that writes often has recent session tokens, so it can see only
//! a state between its last write and another client's.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use azure_core::http::Url;

use super::backend::{Backend, Region};
use crate::chaos::{Chaos, ChaosKind, Random};

/// The lag of each replica at most, in milliseconds.
const MAX_LAG_MS: [u64; 4] = [20, 100, 500, 2_000];

/// The replicas that lag at random.
#[derive(Debug)]
pub(super) struct Lagging {
    chaos: Chaos,
    replicas: Vec<Lag>,
    moments: Mutex<Moments>,
    /// The number of splits under way: a split begins with the data of one region.
    caught_up: AtomicUsize,
}

#[derive(Debug)]
struct Lag {
    replica: Region,
    most_ms: u64,
}

#[derive(Debug)]
struct Moments {
    random: Random,
    /// For each replica the moment that it shows, and the end of that state.
    of: Vec<(Instant, Instant)>,
}

impl Lagging {
    /// Creates the replicas of an account with this address, if chaos asks for stale reads.
    pub(super) fn from_chaos(chaos: Option<&Chaos>, base_url: &Url) -> Option<Self> {
        let chaos = chaos.filter(|chaos| chaos.spec().probability(ChaosKind::Stale) > 0.0)?.clone();
        let lag = |(number, most_ms)| {
            let replica = Region::replica(&format!("Replica {number}"), base_url)?;
            Some(Lag { replica, most_ms })
        };
        let replicas: Vec<_> = MAX_LAG_MS.into_iter().enumerate().filter_map(lag).collect();
        let now = Instant::now();
        let moments =
            Moments { random: chaos.fork(ChaosKind::Stale), of: vec![(now, now); replicas.len()] };
        let moments = Mutex::new(moments);
        Some(Self { chaos, replicas, moments, caught_up: AtomicUsize::new(0) })
    }

    pub(super) fn chaos(&self) -> &Chaos {
        &self.chaos
    }

    /// Returns all replicas.
    pub(super) fn replicas(&self) -> impl Iterator<Item = &Region> {
        self.replicas.iter().map(|lag| &lag.replica)
    }

    /// Returns true if a replica is due to show another moment.
    pub(super) fn is_due(&self) -> bool {
        let now = Instant::now();
        !self.chaos.is_stopped()
            && self.caught_up.load(Ordering::SeqCst) == 0
            && self.moments().of.iter().any(|(_, until)| *until <= now)
    }

    /// Lets each replica that is due show the present moment. The caller holds back writes.
    pub(super) fn refresh(&self, backend: &dyn Backend) {
        if self.caught_up.load(Ordering::SeqCst) > 0 {
            return;
        }
        let now = Instant::now();
        let Moments { random, of } = &mut *self.moments();
        for (lag, (since, until)) in self.replicas.iter().zip(of) {
            if *until <= now {
                backend.resume(&lag.replica.name);
                backend.pause(&lag.replica.name);
                *since = now;
                *until = now + Duration::from_millis(1 + random.below(lag.most_ms));
            }
        }
    }

    /// Returns the replicas that a read may see, if chaos decides so: the one with the longest lag
    /// first.
    pub(super) fn roll(&self) -> Vec<Region> {
        if self.caught_up.load(Ordering::SeqCst) > 0 || self.chaos.roll(ChaosKind::Stale).is_none()
        {
            return Vec::new();
        }
        let moments = self.moments();
        let mut order: Vec<_> =
            moments.of.iter().zip(self.replicas()).map(|((since, _), one)| (*since, one)).collect();
        order.sort_by_key(|(since, _)| *since);
        order.into_iter().map(|(_, replica)| replica.clone()).collect()
    }

    /// Delivers all writes to all replicas, also those to come. The caller holds back writes.
    pub(super) fn catch_up(&self, backend: &dyn Backend) {
        self.caught_up.fetch_add(1, Ordering::SeqCst);
        for replica in self.replicas() {
            backend.resume(&replica.name);
        }
    }

    /// Ends [`Lagging::catch_up`].
    pub(super) fn fall_behind(&self) {
        let now = Instant::now();
        self.moments().of.fill((now, now));
        self.caught_up.fetch_sub(1, Ordering::SeqCst);
    }

    fn moments(&self) -> MutexGuard<'_, Moments> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
