//! The timers: each brings the due items to a colder container, within four minutes.

mod news_archive;
mod news_migration;

pub(super) use news_archive::{archive, archive_run};
pub(super) use news_migration::migrate;

use std::sync::LazyLock;

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Gauge},
};
use tributary_functions::{brand::branded, domain::Timer, telemetry::meter};

use crate::{moves::run::RunSlice, state::News};

pub(super) fn timers(news: &News) -> Vec<Timer> {
    let for_migration = news.clone();
    let for_archive = news.clone();
    vec![
        Timer::new("NewsMigration", "0 */15 * * * *", move || {
            let news = for_migration.clone();
            async move { migrate(&news, RunSlice::TIMER).await.map(drop) }
        }),
        Timer::new("NewsArchive", "0 30 4 * * *", move || {
            let news = for_archive.clone();
            async move { archive(&news, RunSlice::TIMER).await.map(drop) }
        }),
    ]
}

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
fn measure_migration(moved: u64, failed: u64, lag_seconds: u64) {
    for (outcome, items) in [("success", moved), ("failure", failed)] {
        INSTRUMENTS.items.add(items, &[KeyValue::new("outcome", outcome)]);
    }
    INSTRUMENTS.lag.record(lag_seconds, &[]);
}
