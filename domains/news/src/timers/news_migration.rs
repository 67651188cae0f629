//! `NewsMigration`: items that are no longer new go to the warm container.

use opentelemetry::KeyValue;
use tributary_functions::{brand::branded, prelude::*, telemetry::meter};

use crate::{
    model::Tier,
    moves::run::{DueItems, MovingRun, RunOutcome, RunSlice},
    progress::{PROGRESS_ID, ProgressRecord, RECORDS_PARTITION},
    state::News,
};

pub(crate) async fn migrate(news: &News, slice: RunSlice) -> Result<RunOutcome, StoreError> {
    let latest = news.latest_committed().in_background();
    let known = ProgressRecord::read(&latest.locations).await?;
    let recorded = known.as_ref().map_or(Timestamp::EPOCH, |known| known.item.migrated_before);
    let before = news.ages.migrated_before(news.now()).max(recorded);
    let dues = DueItems { from: Tier::Hot, to: Tier::Warm, before };
    let mut run = MovingRun::begin(latest.clone(), &news.background, slice, dues);
    // The progress is recorded once an hour: readers use the earlier record until then.
    let records_progress = known.as_ref().is_none_or(|known| known.item.is_settled(news.now()));
    let ended = run_to_end(&mut run, records_progress, recorded).await;
    if records_progress {
        let reached = ended.as_ref().copied().unwrap_or(recorded);
        record_progress(&latest, reached, known.as_ref()).await?;
    }
    let outcome = run.outcome;
    let lag = outcome.oldest_left.map_or(0, |oldest| before.millis_since(oldest) / 1_000);
    measure_migration(outcome.n_moved(), outcome.failed, lag);
    tracing::info!(
        news.migrated = outcome.n_moved(),
        news.already_there = outcome.already_there,
        news.failed = outcome.failed,
        news.lag_seconds = lag,
        news.oldest_unmigrated = outcome.oldest_left.map(tracing::field::display),
        "Migrated feed items to the warm container"
    );
    ended.map(|_| outcome)
}

/// Ends the remaining moves and brings over the due items. Returns the progress. With `records_progress`,
/// moves in all containers count for it.
async fn run_to_end(
    run: &mut MovingRun<'_>,
    records_progress: bool,
    recorded: Timestamp,
) -> Result<Timestamp, StoreError> {
    let all = [Tier::Hot, Tier::Warm, Tier::Archive];
    let moves = run.end_moves(if records_progress { &all } else { &all[..1] }, recorded).await?;
    while run.next_page().await?.is_some() {}
    Ok(moves.hold(run.moved_before()))
}

async fn record_progress(
    news: &News,
    before: Timestamp,
    known: Option<&Stored<ProgressRecord>>,
) -> Result<(), StoreError> {
    let former = known.map(|known| &known.item);
    let record = ProgressRecord::next(before, former, &news.ages, news.now());
    let etag = known.map(|known| &known.etag);
    match news.locations.put(RECORDS_PARTITION, PROGRESS_ID, &record, etag).await {
        // Another run has recorded its own progress. The next run records this one.
        Err(error) if error.is_race() => Ok(()),
        written => written.map(drop),
    }
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
