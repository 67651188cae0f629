//! Stored items, read past the app.

use azure_data_cosmos::{DatabaseClient, FeedScope, Query};
use futures::TryStreamExt as _;
use serde_json::Value;

/// Returns the results of a query of a whole container.
///
/// # Errors
///
/// If the store refuses a request.
pub async fn items(
    database: &DatabaseClient,
    container: &str,
    query: impl Into<Query>,
) -> anyhow::Result<Vec<Value>> {
    let container = database.container_client(container, None).await?;
    let items = container.query_items(query.into(), FeedScope::full_container(), None).await?;
    Ok(items.try_collect().await?)
}
