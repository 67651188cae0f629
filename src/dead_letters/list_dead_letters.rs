//! `GET /dead-letters`.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};

use crate::{
    cosmos::{Query, Scope, StoreError},
    http::{ApiError, Filter, List, PageRequest},
    projection::{Projections, function_of},
    values::{Timestamp, check_id},
};

/// A dead letter without its document.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    id: String,
    /// It is in the id, and a word that SQL may take for its own.
    #[serde(skip_deserializing)]
    function: String,
    container: Option<String>,
    document_id: Option<String>,
    partition_key: Option<String>,
    raw_truncated: bool,
    reason: String,
    invocation_id: String,
    failed_at: Timestamp,
}

/// `?function=`: the dead letters of one function.
#[derive(Debug, Default, Serialize)]
pub struct ByFunction {
    function: Option<String>,
}

impl Filter for ByFunction {
    fn set(&mut self, name: &str, value: &str) -> Result<(), ApiError> {
        if name == "function" {
            check_id(value).map_err(|invalid| ApiError::invalid(name, invalid.0))?;
            self.function = Some(value.to_owned());
        }
        Ok(())
    }
}

/// Where a page ends: when its last letter failed, and its id.
type SortKey = (Timestamp, String);

/// The dead letters, newest first: of one function in one store request, for they are one logical
/// partition; of all functions by a query in all partitions, which only an operator asks for.
pub async fn list_dead_letters(
    State(projections): State<Projections>,
    page: PageRequest<SortKey, ByFunction>,
) -> Result<Json<List<Summary>>, ApiError> {
    let scope = page.filter.function.as_deref().map_or(Scope::Container, Scope::Partition);
    let query = query(page.fetch(), page.after.as_ref())?;
    let letters = projections.letters().container();
    let mut letters: Vec<Summary> = letters.query(query, scope, page.fetch()).await?;
    for letter in &mut letters {
        letter.function = function_of(&letter.id).unwrap_or_default().to_owned();
    }
    Ok(Json(page.page(letters, |letter| (letter.failed_at, letter.id.clone()))))
}

fn query(top: u32, after: Option<&SortKey>) -> Result<Query, StoreError> {
    // The notes of settled letters have no such time. The range on the time alone is what the index
    // can seek.
    let page = match after {
        None => "WHERE IS_DEFINED(c.failedAt)",
        Some(_) => "WHERE c.failedAt <= @at AND (c.failedAt < @at OR c.id < @id)",
    };
    let mut query = Query::from(format!(
        "SELECT TOP @top c.id, c.container, c.documentId, c.partitionKey, c.rawTruncated, c.reason, \
         c.invocationId, c.failedAt FROM c {page} ORDER BY c.failedAt DESC, c.id DESC"
    ))
    .with_parameter("@top", top)?;
    if let Some((at, id)) = after {
        query = query.with_parameter("@at", at)?.with_parameter("@id", id)?;
    }
    Ok(query)
}
