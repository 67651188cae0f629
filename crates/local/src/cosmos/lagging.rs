//! Replicas that lag by chance.
//!
//! Each has the state of a moment that is up to so long ago, and then that of another moment. The
//! shortest lags matter most: a client that writes often has tokens of just now, and only a state
//! between its last write and another client's is one that it may see.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use azure_core::http::Url;

use super::backend::{Backend, Region};
use crate::chaos::{Chaos, Kind, Random};

/// How far each of the replicas is behind, at most, in milliseconds.
const MOST_BEHIND_MS: [u64; 4] = [20, 100, 500, 2_000];

/// The replicas that lag by chance.
#[derive(Debug)]
pub(super) struct Lagging {
    chaos: Chaos,
    replicas: Vec<Lag>,
    moments: Mutex<Moments>,
    /// How many splits of partitions are under way: a split begins with what one region knows.
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
    /// For each replica the moment that it shows, and until when it does.
    of: Vec<(Instant, Instant)>,
}

impl Lagging {
    /// The replicas of an account with this address, when chaos asks for any.
    pub(super) fn of(chaos: Option<&Chaos>, base_url: &Url) -> Option<Self> {
        let chaos = chaos.filter(|chaos| chaos.spec().probability(Kind::Stale) > 0.0)?.clone();
        let lag = |(number, most_ms)| {
            let replica = Region::replica(&format!("Replica {number}"), base_url)?;
            Some(Lag { replica, most_ms })
        };
        let replicas: Vec<_> = MOST_BEHIND_MS.into_iter().enumerate().filter_map(lag).collect();
        let now = Instant::now();
        let moments =
            Moments { random: chaos.fork(Kind::Stale), of: vec![(now, now); replicas.len()] };
        let moments = Mutex::new(moments);
        Some(Self { chaos, replicas, moments, caught_up: AtomicUsize::new(0) })
    }

    pub(super) fn chaos(&self) -> &Chaos {
        &self.chaos
    }

    /// All of them.
    pub(super) fn replicas(&self) -> impl Iterator<Item = &Region> {
        self.replicas.iter().map(|lag| &lag.replica)
    }

    /// Whether a replica is to show another moment.
    pub(super) fn is_due(&self) -> bool {
        let now = Instant::now();
        !self.chaos.is_stopped()
            && self.caught_up.load(Ordering::SeqCst) == 0
            && self.moments().of.iter().any(|(_, until)| *until <= now)
    }

    /// Lets each replica that is due show the present moment. The caller keeps writes out.
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

    /// The replicas that a read sees, when chaos wants it to: the one that is most behind first.
    pub(super) fn roll(&self) -> Vec<Region> {
        if self.caught_up.load(Ordering::SeqCst) > 0 || self.chaos.roll(Kind::Stale).is_none() {
            return Vec::new();
        }
        let moments = self.moments();
        let mut order: Vec<_> =
            moments.of.iter().zip(self.replicas()).map(|((since, _), one)| (*since, one)).collect();
        order.sort_by_key(|(since, _)| *since);
        order.into_iter().map(|(_, replica)| replica.clone()).collect()
    }

    /// Lets all replicas have all writes, also those to come. The caller keeps writes out.
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
