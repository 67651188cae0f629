//! The metrics of the runs of migration and archive.

use std::sync::LazyLock;

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Gauge},
};
use tributary_functions::{brand::branded, telemetry::meter};

/// The instruments, created at first use: by then the meter provider is installed.
static INSTRUMENTS: LazyLock<Instruments> = LazyLock::new(Instruments::new);

struct Instruments {
    items: Counter<u64>,
    lag: Gauge<u64>,
}

impl Instruments {
    fn new() -> Self {
        Self {
            items: meter().u64_counter(branded("migration.items")).with_unit("{item}").build(),
            lag: meter().u64_gauge(branded("migration.lag")).with_unit("s").build(),
        }
    }
}

/// Measures a run that brings items to a colder container: the number of moved and of failed items,
/// and the seconds for which the oldest remaining item has been due.
pub(super) fn migration(moved: u64, failed: u64, lag_seconds: u64) {
    for (outcome, items) in [("success", moved), ("failure", failed)] {
        INSTRUMENTS.items.add(items, &[KeyValue::new("outcome", outcome)]);
    }
    INSTRUMENTS.lag.record(lag_seconds, &[]);
}
