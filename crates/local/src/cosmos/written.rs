//! The items of a write, and the time that they live.

use azure_core::{Bytes, http::Request};
use azure_data_cosmos_driver::binary_json;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::operation::RequestKind;

/// A written item, with its unparsed `ttl`.
pub(super) struct WrittenItem {
    pub(super) id: String,
    pub(super) ttl: Ttl,
}

/// The time to live of an item, as far as it is known before the write.
pub(super) enum Ttl {
    /// Its property `ttl`, if it has one.
    Property(Option<Value>),
    /// A patch may set it or not, and a deletion ends it: only a read of the item shows it.
    Unknown,
}

/// Returns the items that a data-plane request writes; none if it does not write or is malformed.
pub(super) fn written_items(
    kind: RequestKind,
    item: Option<String>,
    request: &Request,
) -> Vec<WrittenItem> {
    let one = match kind {
        RequestKind::Create | RequestKind::Upsert | RequestKind::Replace => {
            parse::<ItemBody>(request).and_then(|body| body.written(item))
        }
        RequestKind::Patch | RequestKind::Delete => {
            item.map(|id| WrittenItem { id, ttl: Ttl::Unknown })
        }
        RequestKind::Batch => return written_by_batch(request),
        RequestKind::Read
        | RequestKind::Query
        | RequestKind::ReadFeed
        | RequestKind::ChangeFeed => None,
    };
    one.into_iter().collect()
}

/// Returns the time that an item lives after its last write, in seconds; `None` is for ever. Without a
/// usable `ttl` of its own an item follows the container.
pub(super) fn lifetime(ttl: Option<&Value>, default_ttl: i64) -> Option<u64> {
    let own = ttl.and_then(Value::as_i64);
    u64::try_from(own.unwrap_or(default_ttl)).ok()
}

/// Returns the body of a request; the SDKs' requests are complete in memory.
pub(super) fn body_of(request: &Request) -> Bytes {
    Bytes::from(request.body())
}

#[derive(Deserialize)]
struct ItemBody {
    id: Option<String>,
    ttl: Option<Value>,
}

impl ItemBody {
    fn written(self, id: Option<String>) -> Option<WrittenItem> {
        Some(WrittenItem { id: self.id.or(id)?, ttl: Ttl::Property(self.ttl) })
    }
}

fn written_by_batch(request: &Request) -> Vec<WrittenItem> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct BatchOperation {
        id: Option<String>,
        resource_body: Option<ItemBody>,
    }
    parse::<Vec<BatchOperation>>(request)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|BatchOperation { id, resource_body }| match resource_body {
            Some(body) => body.written(id),
            None => id.map(|id| WrittenItem { id, ttl: Ttl::Unknown }),
        })
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
