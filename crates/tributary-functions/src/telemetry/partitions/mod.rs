//! The use of logical partitions: requests and request units of each, by container and minute.
//!
//! Each minute, one line for each used container names the hottest partitions. The first use of a minute
//! starts the timer that writes the lines, so an idle process does nothing. The memory is bounded, whatever
//! the number of partitions: see [`counts`].
//!
//! A partition key may be the id of a user, and readers of the log may have no right to read the data. So a
//! line names a partition by a hash of its key ([`PartitionNames`]). A metric has no name of a partition: its
//! attributes must have few values.
//!
//! Each instance measures its own requests. When an instance ends, its last minute is lost, and nothing
//! depends on that.

mod counts;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    mem,
    sync::{Mutex, OnceLock},
    time::{Duration, Instant},
};

use serde_json::json;
use twox_hash::XxHash64;

pub(super) use self::counts::PartitionSummary;
use self::counts::{ContainerCounts, HotPartition};
use super::{Cost, metrics, recent};
use crate::lock::lock;

const COUNT_WINDOW: Duration = Duration::from_mins(1);

/// The longest key that a line shows as it is, in bytes. A key may have 2 KiB.
const MAX_PLAIN_KEY_BYTES: usize = 100;

/// The names of logical partitions in log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PartitionNames {
    /// A hash of the key, the same in all instances: XXH64 of its UTF-8 as 16 hexadecimal digits. A reader of the
    /// container, or one that knows all possible keys, can find the key.
    #[default]
    Hashed,
    /// The key itself; the hash of a key of more than 100 bytes.
    Plain,
    /// No names: the use of partitions is not measured.
    Off,
}

pub(crate) fn note_use(
    container: &'static str,
    partition: Option<&str>,
    begins_query: bool,
    cost: Cost,
) {
    recent::note_partition(container, partition, cost);
    let Some(counter) = PARTITIONS.get() else { return };
    if counter.record(container, partition, begins_query, cost) {
        tokio::spawn(async {
            tokio::time::sleep(COUNT_WINDOW).await;
            counter.report();
        });
    }
}

static PARTITIONS: OnceLock<PartitionCounter> = OnceLock::new();

pub(super) fn start(names: PartitionNames) {
    if names != PartitionNames::Off {
        PARTITIONS.get_or_init(|| PartitionCounter::new(names));
    }
}

pub(super) fn stop() {
    if let Some(partitions) = PARTITIONS.get() {
        partitions.report();
    }
}

struct PartitionCounter {
    names: PartitionNames,
    window: Mutex<CountWindow>,
}

#[derive(Default)]
struct CountWindow {
    began: Option<Instant>,
    containers: BTreeMap<&'static str, ContainerCounts>,
}

impl PartitionCounter {
    fn new(names: PartitionNames) -> Self {
        Self { names, window: Mutex::default() }
    }

    fn record(
        &self,
        container: &'static str,
        partition: Option<&str>,
        begins_query: bool,
        cost: Cost,
    ) -> bool {
        let name = partition.map(|key| self.names.name(key));
        let mut window = lock(&self.window);
        let counts = match window.containers.get_mut(container) {
            Some(counts) => counts,
            None => match ContainerCounts::new() {
                Ok(counts) => window.containers.entry(container).or_insert(counts),
                Err(_) => return false,
            },
        };
        counts.add(name.as_deref(), begins_query, cost);
        let is_first = window.began.is_none();
        window.began.get_or_insert_with(Instant::now);
        is_first
    }

    fn report(&self) {
        let CountWindow { began, containers } = mem::take(&mut *lock(&self.window));
        let window = began.map_or(Duration::ZERO, |began| began.elapsed());
        for (container, counts) in containers {
            report(container, window, &counts.summary());
        }
    }
}

impl PartitionNames {
    fn name(self, key: &str) -> Cow<'_, str> {
        match self {
            Self::Plain if key.len() <= MAX_PLAIN_KEY_BYTES => key.into(),
            _ => format!("{:016x}", XxHash64::oneshot(0, key.as_bytes())).into(),
        }
    }
}

fn report(container: &'static str, window: Duration, summary: &PartitionSummary) {
    let hot = |hot: &HotPartition| json!([hot.name, rounded(hot.request_units), hot.requests]);
    let top: serde_json::Value = summary.top.iter().map(hot).collect();
    tracing::info!(
        container,
        window_seconds = window.as_secs_f64().round(),
        request_charge_ru = summary.request_units,
        store.requests = summary.requests,
        store.throttled = summary.throttled,
        store.queries = summary.queries,
        store.cross_partition_queries = summary.cross_partition_queries,
        partitions = summary.partitions,
        partitions.gini = summary.gini.map(rounded),
        partitions.hottest = summary.top.first().map(|hot| hot.name.as_str()),
        partitions.hottest_ru = summary.hottest_units(),
        partitions.top = top.to_string(),
        partitions.error_ru = summary.error,
        "Measured the use of logical partitions"
    );
    metrics::partitions(container, summary);
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of years are compared by these names, and the monitor finds keys by them.
    #[test]
    fn the_name_of_a_partition_is_pinned() {
        assert_eq!(PartitionNames::Hashed.name("ann"), "0b41beba40346ebe");
        assert_eq!(PartitionNames::Hashed.name(""), "ef46db3751d8e999");
        assert_eq!(PartitionNames::Plain.name("ann"), "ann");
        assert_eq!(PartitionNames::Plain.name(&"a".repeat(101)).len(), 16);
    }
}
