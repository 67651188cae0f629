//! Chaos: the occasional faults of Azure, often and from a seed.
//!
//! The Functions host delivers changes more than once, late, and to two instances for a moment; the
//! store throttles, loses answers and splits partitions; processes are killed. A [`Chaos`] decides
//! about each fault, and the endpoint and the stand-in for the host carry it out. `docs/chaos.md`
//! describes the faults that each kind models.
//!
//! Every kind draws from a stream of random numbers of its own. So the same seed gives each kind the
//! same decisions, independent of the other kinds. As soon as several requests or batches are under
//! way, the machine's scheduling still decides which of them meets a decision.

mod random;
mod spec;

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

pub use random::Random;
pub use spec::{ChaosSpec, SpecError};

/// A kind of chaos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChaosKind {
    /// A duplicate delivery of a batch, at once or much later.
    Duplicates,
    /// Documents of other logical partitions overtake each other, and so do batches of other leases.
    Reorder,
    /// A batch is in flight in two handlers at once.
    Overlap,
    /// The handler is killed in the middle of a batch.
    Crash,
    /// The store refuses a request with 429.
    Throttle,
    /// The store carries a write out, and its answer is lost.
    LostAnswer,
    /// A physical partition becomes two.
    Split,
    /// A read sees the state of a replica that lags.
    Stale,
    /// The host sends a request without a body several times.
    Repeat,
}

/// All kinds, in the order of `--help` and of the summary.
const KINDS: [ChaosKind; 9] = [
    ChaosKind::Duplicates,
    ChaosKind::Reorder,
    ChaosKind::Overlap,
    ChaosKind::Crash,
    ChaosKind::Throttle,
    ChaosKind::LostAnswer,
    ChaosKind::Split,
    ChaosKind::Stale,
    ChaosKind::Repeat,
];

impl ChaosKind {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duplicates => "duplicates",
            Self::Reorder => "reorder",
            Self::Overlap => "overlap",
            Self::Crash => "crash",
            Self::Throttle => "throttle",
            Self::LostAnswer => "lost-answer",
            Self::Split => "split",
            Self::Stale => "stale",
            Self::Repeat => "repeat",
        }
    }
}

/// A source of chaos. A clone is another handle to the same one.
#[derive(Clone, Debug)]
pub struct Chaos(Arc<ChaosState>);

#[derive(Debug)]
struct ChaosState {
    spec: ChaosSpec,
    stopped: AtomicBool,
    streams: [Mutex<Random>; KINDS.len()],
    injected: [AtomicU64; KINDS.len()],
    reads_of_replicas: AtomicU64,
}

impl Chaos {
    /// Creates chaos of a specification, decided by a seed.
    pub fn new(spec: ChaosSpec, seed: u64) -> Self {
        let streams = KINDS.map(|kind| Mutex::new(Random::stream(seed, kind as u64)));
        let injected = KINDS.map(|_| AtomicU64::new(0));
        Self(Arc::new(ChaosState {
            spec,
            stopped: AtomicBool::new(false),
            streams,
            injected,
            reads_of_replicas: AtomicU64::new(0),
        }))
    }

    /// Returns the specification.
    pub fn spec(&self) -> &ChaosSpec {
        &self.0.spec
    }

    /// Stops all faults.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends [`Chaos::stop`].
    pub fn resume(&self) {
        self.0.stopped.store(false, Ordering::Relaxed);
    }

    /// Returns the number of faults of each kind.
    pub fn injected(&self) -> Vec<(ChaosKind, u64)> {
        let count =
            |kind: ChaosKind| (kind, self.0.injected[kind as usize].load(Ordering::Relaxed));
        KINDS.into_iter().map(count).collect()
    }

    /// Returns the number of reads that were sent to replicas that lag. [`ChaosKind::Stale`] counts those of
    /// them whose answer was not the newest state, which needs a write just before.
    pub fn reads_of_replicas(&self) -> u64 {
        self.0.reads_of_replicas.load(Ordering::Relaxed)
    }

    /// Returns the table of the injected faults.
    pub fn summary(&self) -> String {
        let mut table = String::from("Chaos, injected:\n");
        for (kind, count) in self.injected() {
            // Writing to a String cannot fail.
            let _ = writeln!(table, "  {:<12}{count:>8}", kind.name());
        }
        table
    }

    /// Decides whether a fault happens now. If so, the returned numbers decide its details.
    pub(crate) fn roll(&self, kind: ChaosKind) -> Option<Random> {
        if self.0.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let mut stream = self.stream(kind);
        stream.chance(self.0.spec.probability(kind)).then(|| stream.fork())
    }

    /// Returns random numbers for a kind that does not happen by probability.
    pub(crate) fn fork(&self, kind: ChaosKind) -> Random {
        self.stream(kind).fork()
    }

    /// Returns true after [`Chaos::stop`].
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// Counts a read that is sent to a replica that lags.
    pub(crate) fn note_read_of_replica(&self) {
        self.0.reads_of_replicas.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a fault, and logs it at debug level: `RUST_LOG=tributary_local::chaos=debug`.
    pub(crate) fn note(&self, kind: ChaosKind, what: impl std::fmt::Display) {
        self.0.injected[kind as usize].fetch_add(1, Ordering::Relaxed);
        tracing::debug!(target: "tributary_local::chaos", "{}: {what}", kind.name());
    }

    fn stream(&self, kind: ChaosKind) -> std::sync::MutexGuard<'_, Random> {
        self.0.streams[kind as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
