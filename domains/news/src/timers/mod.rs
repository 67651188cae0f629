//! The timers: each brings the due items to a colder container, within four minutes.

mod news_archive;
mod news_migration;

pub(super) use news_archive::{archive, archive_run};
pub(super) use news_migration::migrate;

use opentelemetry::KeyValue;
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

/// Measures a run that brings items to a colder container: the number of moved and of failed items,
/// and the seconds for which the oldest remaining item has been due.
fn measure_migration(moved: u64, failed: u64, lag_seconds: u64) {
    let moves = meter().u64_counter(branded("migration.items")).with_unit("{item}").build();
    for (outcome, items) in [("success", moved), ("failure", failed)] {
        moves.add(items, &[KeyValue::new("outcome", outcome)]);
    }
    let lag = meter().u64_gauge(branded("migration.lag")).with_unit("s").build();
    lag.record(lag_seconds, &[]);
}
