//! The plan of a query over several partitions, as the gateway gives it to SDKs.

use crate::{Refusal, engine::Definition, sql::Prepared};

/// Returns the plan as JSON: `partitionedQueryExecutionInfoVersion`, `queryInfo` with the query that each partition is
/// to answer, and `queryRanges`.
///
/// # Errors
/// 400 for a feature that the SDK does not say it supports (`x-ms-cosmos-supported-query-features`).
pub fn plan(
    query: &Prepared,
    container: &Definition,
    supported_features: &str,
) -> Result<serde_json::Value, Refusal> {
    let _ = (query, container, supported_features);
    todo!()
}
