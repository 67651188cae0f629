//! Chaos: what Azure does now and then, at once and from a seed.
//!
//! The Functions host delivers changes twice, late, and to two instances for a moment; the store
//! throttles, loses answers and splits partitions; processes are killed. A [`Chaos`] decides when,
//! and the endpoint and the host stand-in carry it out. `docs/chaos.md` says what each kind models.
//!
//! Every kind draws from a stream of random numbers of its own, so the same seed gives each kind
//! the same decisions whatever the other kinds do. Which request or batch meets a decision depends
//! on the machine's scheduling all the same, as soon as several are under way.

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
pub enum Kind {
    /// A batch is delivered again, at once or much later.
    Duplicates,
    /// Documents of other logical partitions overtake each other, and so do batches of others.
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
    /// A read sees what a replica has that is behind.
    Stale,
    /// The host sends a request without a body several times.
    Repeat,
}

/// All kinds, in the order of `--help` and of the summary.
const KINDS: [Kind; 9] = [
    Kind::Duplicates,
    Kind::Reorder,
    Kind::Overlap,
    Kind::Crash,
    Kind::Throttle,
    Kind::LostAnswer,
    Kind::Split,
    Kind::Stale,
    Kind::Repeat,
];

impl Kind {
    /// The name on the command line.
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
pub struct Chaos(Arc<State>);

#[derive(Debug)]
struct State {
    spec: ChaosSpec,
    stopped: AtomicBool,
    streams: [Mutex<Random>; KINDS.len()],
    injected: [AtomicU64; KINDS.len()],
    reads_of_replicas: AtomicU64,
}

impl Chaos {
    /// Chaos as the specification asks for, decided by a seed.
    pub fn new(spec: ChaosSpec, seed: u64) -> Self {
        let streams = KINDS.map(|kind| Mutex::new(Random::stream(seed, kind as u64)));
        let injected = KINDS.map(|_| AtomicU64::new(0));
        Self(Arc::new(State {
            spec,
            stopped: AtomicBool::new(false),
            streams,
            injected,
            reads_of_replicas: AtomicU64::new(0),
        }))
    }

    /// What was asked for.
    pub fn spec(&self) -> &ChaosSpec {
        &self.0.spec
    }

    /// From now on nothing goes wrong any more.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends [`Chaos::stop`].
    pub fn resume(&self) {
        self.0.stopped.store(false, Ordering::Relaxed);
    }

    /// How often each kind was injected.
    pub fn injected(&self) -> Vec<(Kind, u64)> {
        let count = |kind: Kind| (kind, self.0.injected[kind as usize].load(Ordering::Relaxed));
        KINDS.into_iter().map(count).collect()
    }

    /// How many reads were sent to replicas that lag. [`Kind::Stale`] counts those of them whose
    /// answer was another than the newest, which takes a write just before.
    pub fn reads_of_replicas(&self) -> u64 {
        self.0.reads_of_replicas.load(Ordering::Relaxed)
    }

    /// The table of what was injected.
    pub fn summary(&self) -> String {
        let mut table = String::from("Chaos, injected:\n");
        for (kind, count) in self.injected() {
            // Writing to a String cannot fail.
            let _ = writeln!(table, "  {:<12}{count:>8}", kind.name());
        }
        table
    }

    /// Decides whether a kind happens now. If so, the answer decides the rest of it.
    pub(crate) fn roll(&self, kind: Kind) -> Option<Random> {
        if self.0.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let mut stream = self.stream(kind);
        stream.chance(self.0.spec.probability(kind)).then(|| stream.fork())
    }

    /// Random numbers for a kind that does not happen by probability.
    pub(crate) fn fork(&self, kind: Kind) -> Random {
        self.stream(kind).fork()
    }

    /// Whether [`Chaos::stop`] was called.
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// Counts a read that is sent to replicas that lag.
    pub(crate) fn note_read_of_replica(&self) {
        self.0.reads_of_replicas.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what was injected, with a line at debug level: `RUST_LOG=tributary_local::chaos=debug`.
    pub(crate) fn note(&self, kind: Kind, what: impl std::fmt::Display) {
        self.0.injected[kind as usize].fetch_add(1, Ordering::Relaxed);
        tracing::debug!(target: "tributary_local::chaos", "{}: {what}", kind.name());
    }

    fn stream(&self, kind: Kind) -> std::sync::MutexGuard<'_, Random> {
        self.0.streams[kind as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
