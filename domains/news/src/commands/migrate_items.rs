//! `POST /news/migrate`.

use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::http::ApiError;

use crate::{moves::run::RunSlice, state::News, timers::migrate};

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
