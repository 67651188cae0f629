//! `POST /news/archive`.

use axum::{
    Json,
    extract::{RawQuery, State},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::news::{
    NewsApp,
    archive::{archive, dry_run},
    model::PartitionKey,
    turns::Slice,
};
use tributary_functions::http::{ApiError, parameter_of};

/// The answer, which depends on `dryRun`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ArchiveAnswer {
    Done(ArchiveOutcome),
    DryRun(DryRun),
}

/// What a run of the archive has done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ArchiveOutcome {
    archived: u64,
    failed: u64,
    /// Whether nothing that is due is left. Otherwise the timer goes on, or another call does.
    complete: bool,
}

/// What a run would do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRun {
    would_archive: u64,
    partitions: Vec<PartitionItems>,
    /// Whether all that is due was counted within a minute.
    complete: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PartitionItems {
    partition_key: PartitionKey,
    items: u64,
}

/// Does the timer's work now, for at most a minute; with `dryRun=true` it says what it would do.
pub async fn archive_items(
    State(app): State<NewsApp>,
    RawQuery(query): RawQuery,
) -> Result<Json<ArchiveAnswer>, ApiError> {
    match parameter_of(query.as_deref(), "dryRun")?.as_deref() {
        Some("true") => {
            let forecast = dry_run(&app.news, &app.background, Slice::CALL).await?;
            let would_archive = forecast.partitions.values().sum();
            let partitions = forecast.partitions.into_iter();
            let partitions =
                partitions.map(|(partition_key, items)| PartitionItems { partition_key, items });
            let (partitions, complete) = (partitions.collect(), forecast.is_complete);
            let forecast = DryRun { would_archive, partitions, complete };
            Ok(Json(ArchiveAnswer::DryRun(forecast)))
        }
        None | Some("false") => {
            let done = archive(&app.news, &app.background, Slice::CALL).await?;
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
