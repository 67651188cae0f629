//! Paths of news.

use serde_json::Value;

/// The path of an item as a function has answered with it.
pub(crate) fn path(item: &Value) -> String {
    let [key, id] = ["partitionKey", "id"].map(|name| item[name].as_str().unwrap());
    format!("/api/news/items/{key}/{id}")
}
