//! What a write says about time to live.

use azure_core::{Bytes, http::Request};
use azure_data_cosmos_driver::binary_json;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::operation::RequestKind;

/// An item of a write, with its `ttl` as it stands.
pub(super) struct Written {
    pub(super) id: String,
    pub(super) ttl: Ttl,
}

/// What is known of an item's time to live before the write has happened.
pub(super) enum Ttl {
    /// Its property `ttl`, if it has one.
    Property(Option<Value>),
    /// A patch may set it or not: only the item will tell.
    Unknown,
}

/// The items that a data-plane request writes; none when it does not write or is malformed.
pub(super) fn written_items(
    kind: RequestKind,
    item: Option<String>,
    request: &Request,
) -> Vec<Written> {
    let one = match kind {
        RequestKind::Create | RequestKind::Upsert | RequestKind::Replace => {
            parse::<Item>(request).and_then(|body| body.written(item))
        }
        RequestKind::Patch => item.map(|id| Written { id, ttl: Ttl::Unknown }),
        RequestKind::Batch => return written_by_batch(request),
        RequestKind::Delete
        | RequestKind::Read
        | RequestKind::Query
        | RequestKind::ReadFeed
        | RequestKind::ChangeFeed => None,
    };
    one.into_iter().collect()
}

/// How long an item lives after its last write, in seconds; `None` is for ever. Without a usable
/// `ttl` of its own an item follows the container.
pub(super) fn lifetime(ttl: Option<&Value>, default_ttl: i64) -> Option<u64> {
    let own = ttl.and_then(Value::as_i64);
    u64::try_from(own.unwrap_or(default_ttl)).ok()
}

/// The body of a request; the SDKs' requests are complete in memory.
pub(super) fn body_of(request: &Request) -> Bytes {
    Bytes::from(request.body())
}

#[derive(Deserialize)]
struct Item {
    id: Option<String>,
    ttl: Option<Value>,
}

impl Item {
    fn written(self, id: Option<String>) -> Option<Written> {
        Some(Written { id: self.id.or(id)?, ttl: Ttl::Property(self.ttl) })
    }
}

fn written_by_batch(request: &Request) -> Vec<Written> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct BatchOperation {
        id: Option<String>,
        resource_body: Option<Item>,
    }
    parse::<Vec<BatchOperation>>(request)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|operation| operation.resource_body?.written(operation.id))
        .collect()
}

/// Reads a body: text JSON or the binary JSON that the Rust SDK prefers.
pub(super) fn parse<T: DeserializeOwned>(request: &Request) -> Option<T> {
    let body = body_of(request);
    if binary_json::is_binary(&body) {
        binary_json::from_slice(&body).ok()
    } else {
        serde_json::from_slice(&body).ok()
    }
}
