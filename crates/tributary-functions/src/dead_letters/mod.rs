//! The dead letters over HTTP, for the operator of the app: read, replay, delete.
//!
//! `docs/dead-letters.md` explains dead letters and their handling; [`crate::projection`] creates
//! them.

mod replay_dead_letter;

use axum::{Json, extract::State, http::StatusCode};
pub(crate) use replay_dead_letter::{ReplayCounts, replay_dead_letter, replay_many};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cosmos::{JsonText, Query, Scope, StoreError, retry},
    engines::child_list::SortKey,
    http::{
        ApiError, Conditions, Filter, ItemResponse, List, PageRequest, Params, QueryParameter,
        found,
    },
    projection::{DeadLetter, DeadLetterId, Projections, function_of},
    values::{CommandId, Timestamp, check_id},
};

/// Returns a dead letter with the document as it was delivered: one point read.
pub(crate) async fn get_dead_letter(
    State(projections): State<Projections>,
    Params(id): Params<DeadLetterId>,
    conditions: Conditions,
) -> Result<ItemResponse<DeadLetter>, ApiError> {
    let letter = projections.dead_letters().read(id.as_str()).await?;
    let letter = letter.ok_or(ApiError::NotFound("dead letter"))?;
    Ok(found(&conditions, &letter.item, &letter.etag))
}

/// A dead letter without its document.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DeadLetterSummary")]
pub(crate) struct DeadLetterSummary {
    #[schemars(with = "DeadLetterId")]
    id: String,
    /// The function. It comes from the id, since `function` may be a keyword of SQL.
    #[serde(skip_deserializing)]
    #[schemars(example = &"CopyRooms")]
    function: String,
    #[schemars(example = &"rooms")]
    container: Option<String>,
    #[schemars(example = "room-204")]
    document_id: Option<String>,
    #[schemars(example = "building-2")]
    partition_key: Option<String>,
    raw_truncated: bool,
    #[schemars(example = "missing field `name`")]
    reason: String,
    #[schemars(example = "5a1f0c9e-2b7d-4e63-8f10-9c4d2a6b7e35")]
    invocation_id: String,
    failed_at: Timestamp,
}

impl DeadLetterSummary {
    fn named(self) -> Self {
        let function = function_of(&self.id).unwrap_or_default().to_owned();
        Self { function, ..self }
    }
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct ByFunction {
    function: Option<String>,
}

impl Filter for ByFunction {
    const PARAMETERS: &'static [QueryParameter] =
        &[QueryParameter::new("function", "The function whose dead letters are listed.")
            .example("CopyRooms")];

    fn set(&mut self, name: &str, value: &str) -> Result<(), ApiError> {
        if name == "function" {
            check_id(value).map_err(|invalid| ApiError::invalid(name, invalid.0))?;
            self.function = Some(value.to_owned());
        }
        Ok(())
    }
}

/// Lists the dead letters, newest first. Those of one function are one logical partition and take one
/// store request. Those of all functions take a fan-out query, which only an operator asks for.
pub(crate) async fn list_dead_letters(
    State(projections): State<Projections>,
    page: PageRequest<SortKey, ByFunction>,
) -> Result<Json<List<DeadLetterSummary>>, ApiError> {
    let function = page.filter.function.clone();
    let scope = function.as_deref().map_or(Scope::Container, Scope::Partition);
    let letters = projections.dead_letters().container();
    let after = page.after.clone();
    let read = async |most| {
        let rows = letters.query_rows(query(most, after.as_ref())?, scope, most).await?;
        Ok::<_, StoreError>(rows.into_iter().map(|row| row.map(DeadLetterSummary::named)).collect())
    };
    let key = |letter: &DeadLetterSummary| SortKey(letter.failed_at, letter.id.clone());
    let position = |row: &JsonText| Some(SortKey(row.field("failedAt")?, row.field("id")?));
    Ok(Json(page.read(read, key, position).await?))
}

pub(super) fn query(top: u32, after: Option<&SortKey>) -> Result<Query, StoreError> {
    // Settlements have no `failedAt`. The index seeks the range on the time alone.
    let page = match after {
        None => "WHERE IS_DEFINED(c.failedAt)",
        Some(_) => "WHERE c.failedAt <= @at AND (c.failedAt < @at OR c.id < @id)",
    };
    let mut query = Query::from(format!(
        "SELECT TOP @top c.id, c.container, c.documentId, c.partitionKey, c.rawTruncated, c.reason, \
         c.invocationId, c.failedAt FROM c {page} ORDER BY c.failedAt DESC, c.id DESC"
    ))
    .with_parameter("@top", top)?;
    if let Some(SortKey(at, id)) = after {
        query = query.with_parameter("@at", at)?.with_parameter("@id", id)?;
    }
    Ok(query)
}

/// Deletes a dead letter and gives up its change. Three store requests.
pub(crate) async fn delete_dead_letter(
    State(projections): State<Projections>,
    Params(id): Params<DeadLetterId>,
    conditions: Conditions,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    let attempt = async |_| {
        let letters = projections.dead_letters();
        let letter = letters.read(id.as_str()).await?;
        // An earlier attempt has settled it, or an earlier delivery of the same request by the host.
        if letters.settled(id.as_str(), &command).await?.is_none() {
            let letter = letter.ok_or_else(|| conditions.missing("dead letter"))?;
            conditions.check(Some(&letter.etag))?;
            letters.settle(&letter, &command, None).await?;
        }
        Ok::<_, ApiError>(StatusCode::NO_CONTENT)
    };
    retry(attempt).await
}
