//! `POST /news/migrate` and `POST /news/archive`: the work of the timers, for at most a minute.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::{http::parameter_of, prelude::*};

use crate::{
    model::PartitionKey,
    moves::run::RunSlice,
    state::News,
    timers::{archive, archive_run, migrate},
};

/// The result of a run of the migration.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MigrationOutcome {
    migrated: u64,
    already_there: u64,
    failed: u64,
    /// True if no due item remains. Otherwise the timer or the next call continues.
    complete: bool,
}

/// Migrates due items as the timer does, for at most a minute.
pub async fn migrate_items(State(news): State<News>) -> Result<Json<MigrationOutcome>, ApiError> {
    let done = migrate(&news, RunSlice::CALL).await?;
    Ok(Json(MigrationOutcome {
        migrated: done.n_moved(),
        already_there: done.already_there,
        failed: done.failed,
        complete: done.is_complete,
    }))
}

/// The answer, which depends on `dryRun`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ArchiveAnswer {
    Done(ArchiveOutcome),
    DryRun(DryRun),
}

/// The result of a run of the archive.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArchiveOutcome {
    archived: u64,
    failed: u64,
    /// True if no due item remains. Otherwise the timer or the next call continues.
    complete: bool,
}

/// The work of a run that would start now.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    would_archive: u64,
    partitions: Vec<PartitionItems>,
    /// True if all due items were counted within a minute.
    complete: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PartitionItems {
    partition_key: PartitionKey,
    items: u64,
}

/// Archives due items as the timer does, for at most a minute. With `dryRun=true`, counts them only.
pub async fn archive_items(
    State(news): State<News>,
    RawQuery(query): RawQuery,
) -> Result<Json<ArchiveAnswer>, ApiError> {
    match parameter_of(query.as_deref(), "dryRun")?.as_deref() {
        Some("true") => {
            let (partitions, complete) = archive_run(&news, RunSlice::CALL).count().await?;
            let would_archive = partitions.values().sum();
            let partitions = partitions.into_iter();
            let partitions =
                partitions.map(|(partition_key, items)| PartitionItems { partition_key, items });
            let partitions = partitions.collect();
            Ok(Json(ArchiveAnswer::DryRun(DryRun { would_archive, partitions, complete })))
        }
        None | Some("false") => {
            let done = archive(&news, RunSlice::CALL).await?;
            let outcome = ArchiveOutcome {
                archived: done.n_moved() + done.already_there,
                failed: done.failed,
                complete: done.is_complete,
            };
            Ok(Json(ArchiveAnswer::Done(outcome)))
        }
        Some(_) => Err(ApiError::invalid("dryRun", "must be true or false")),
    }
}
