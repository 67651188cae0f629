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

use crate::lock;
use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

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

/// All kinds in their order, with the names of the command line.
const KINDS: [(ChaosKind, &str); 9] = [
    (ChaosKind::Duplicates, "duplicates"),
    (ChaosKind::Reorder, "reorder"),
    (ChaosKind::Overlap, "overlap"),
    (ChaosKind::Crash, "crash"),
    (ChaosKind::Throttle, "throttle"),
    (ChaosKind::LostAnswer, "lost-answer"),
    (ChaosKind::Split, "split"),
    (ChaosKind::Stale, "stale"),
    (ChaosKind::Repeat, "repeat"),
];

impl ChaosKind {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
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
}

impl Chaos {
    /// Creates chaos of a specification, decided by a seed.
    pub fn new(spec: ChaosSpec, seed: u64) -> Self {
        let streams = KINDS.map(|(kind, _)| Mutex::new(Random::stream(seed, kind as u64)));
        let injected = KINDS.map(|_| AtomicU64::new(0));
        Self(Arc::new(ChaosState { spec, stopped: AtomicBool::new(false), streams, injected }))
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
        let count = |(kind, _)| (kind, self.0.injected[kind as usize].load(Ordering::Relaxed));
        KINDS.into_iter().map(count).collect()
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
        if self.is_stopped() {
            return None;
        }
        let mut stream = lock(&self.0.streams[kind as usize]);
        stream.chance(self.0.spec.probability(kind)).then(|| stream.fork())
    }

    /// Returns random numbers for a kind that does not happen by probability.
    pub(crate) fn fork(&self, kind: ChaosKind) -> Random {
        lock(&self.0.streams[kind as usize]).fork()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// Counts a fault, and logs it at debug level: `RUST_LOG=tributary_local::chaos=debug`.
    pub(crate) fn note(&self, kind: ChaosKind, what: impl std::fmt::Display) {
        self.0.injected[kind as usize].fetch_add(1, Ordering::Relaxed);
        tracing::debug!(target: "tributary_local::chaos", "{}: {what}", kind.name());
    }
}

/// The probability of each kind of chaos; zero by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChaosSpec {
    /// The probabilities, by kind; that of [`ChaosKind::Split`] is not used.
    probabilities: [f64; KINDS.len()],
    /// The number of physical partitions to split in all.
    pub(crate) splits: u32,
}

/// The number of partitions that are split at most: each split makes all later queries slower.
const MAX_SPLITS: u32 = 100;

impl ChaosSpec {
    /// Returns the probability of a kind each time that it could happen.
    pub fn probability(&self, kind: ChaosKind) -> f64 {
        self.probabilities[kind as usize]
    }
}

impl FromStr for ChaosSpec {
    /// The fault, as one sentence.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut spec = Self::default();
        let mut seen = Vec::new();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                format!("{part:?} must be a kind and a number, such as throttle=0.05")
            })?;
            let name = name.trim();
            let value = value.trim();
            let known = KINDS.into_iter().find(|(_, known)| *known == name);
            let (kind, _) = known.ok_or_else(|| {
                let names = KINDS.map(|(_, name)| name).join(", ");
                format!("there is no kind {name:?} of chaos, only {names}")
            })?;
            if seen.contains(&kind) {
                return Err(format!("{name} is given twice"));
            }
            seen.push(kind);
            if kind == ChaosKind::Split {
                spec.splits = splits(value)?;
            } else {
                spec.probabilities[kind as usize] = probability(name, value)?;
            }
        }
        Ok(spec)
    }
}

fn probability(name: &str, value: &str) -> Result<f64, String> {
    let number = value.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("{name} must be a probability from 0 to 1, not {value:?}"))
}

fn splits(value: &str) -> Result<u32, String> {
    let number = value.parse().ok().filter(|number| *number <= MAX_SPLITS);
    number.ok_or_else(|| {
        format!(
            "split must be a number of partitions to split in all, 0 to {MAX_SPLITS}, not {value:?}"
        )
    })
}

/// The generator SplitMix64: small, fast, and good enough to decide about faults.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Clone, Debug)]
pub struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// Creates one of the independent streams of a seed.
    pub fn stream(seed: u64, number: u64) -> Self {
        let mut one = Self(seed);
        one.0 = one.next() ^ number.wrapping_mul(STEP);
        Self(one.next())
    }

    /// Creates a stream that does not depend on the number of later draws from this one.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `end` - 1; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The bias is below end / 2^64.
        let wide = u128::from(self.next()) * u128::from(end);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// Returns an index of a list of this length; 0 for an empty one.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// Returns true with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        unit < probability
    }

    /// Puts a list into a random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.index(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_sentence_that_names_the_fault() {
        for (text, named) in [
            ("crash", "such as throttle=0.05"),
            ("meteor=0.1", "no kind \"meteor\" of chaos, only duplicates, reorder"),
            ("crash=1.1", "crash must be a probability from 0 to 1, not \"1.1\""),
            ("crash=NaN", "crash must be"),
            ("split=0.5", "split must be a number of partitions"),
            ("split=101", "0 to 100"),
            ("crash=0.1,crash=0.2", "crash is given twice"),
        ] {
            let error = text.parse::<ChaosSpec>().unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
            assert_eq!(error.lines().count(), 1);
        }
    }

    #[test]
    fn a_seed_always_gives_the_same_numbers_and_each_stream_its_own() {
        let first = |seed, number| Random::stream(seed, number).below(u64::MAX);
        assert_eq!(first(7, 1), first(7, 1));
        assert!(![first(7, 2), first(8, 1)].contains(&first(7, 1)));
    }
}
