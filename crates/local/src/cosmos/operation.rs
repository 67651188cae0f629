//! The operation of a request, read from its method, path and headers.
//!
//! The routes are those of the REST API:
//! <https://learn.microsoft.com/rest/api/cosmos-db/resource-uri-syntax-for-rest>.

use azure_core::Bytes;
use azure_core::http::headers::HeaderName;
use azure_core::http::{Method, Request, Url};
use azure_data_cosmos_driver::binary_json;
use cosmos_model::charges::items::ItemVersion;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const IS_QUERY: HeaderName = HeaderName::from_static("x-ms-documentdb-isquery");
const IS_QUERY_OF_OLD_SDKS: HeaderName = HeaderName::from_static("x-ms-documentdb-query");
const IS_QUERY_PLAN: HeaderName = HeaderName::from_static("x-ms-cosmos-is-query-plan-request");
const IS_UPSERT: HeaderName = HeaderName::from_static("x-ms-documentdb-is-upsert");
const IS_BATCH: HeaderName = HeaderName::from_static("x-ms-cosmos-is-batch-request");
pub(super) const CHANGE_FEED: HeaderName = HeaderName::from_static("a-im");
pub(super) const PARTITION_KEY: HeaderName =
    HeaderName::from_static("x-ms-documentdb-partitionkey");
pub(super) const PRIORITY_LEVEL: HeaderName = HeaderName::from_static("x-ms-cosmos-priority-level");

/// The kind of a data-plane request, by which a bill of request units is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[non_exhaustive]
pub enum RequestKind {
    /// A new item.
    Create,
    /// A new item, or a new version of an item.
    Upsert,
    /// A new version of an item.
    Replace,
    /// A partial update of an item.
    Patch,
    /// The end of an item.
    Delete,
    /// A point read: one item by id and partition key.
    Read,
    /// One page of a query.
    Query,
    /// A transactional batch.
    Batch,
    /// One page of all items, without a query.
    ReadFeed,
    /// One page of the change feed.
    ChangeFeed,
}

impl RequestKind {
    pub(super) fn is_write(self) -> bool {
        use RequestKind::{Batch, Create, Delete, Patch, Replace, Upsert};
        matches!(self, Create | Upsert | Replace | Patch | Delete | Batch)
    }
}

/// The path of a container, with decoded names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ContainerPath {
    pub(super) database: String,
    pub(super) container: String,
}

impl ContainerPath {
    pub(super) fn item<'a>(&'a self, id: &'a str) -> [&'a str; 6] {
        ["dbs", &self.database, "colls", &self.container, "docs", id]
    }
}

/// A request of the data plane.
#[derive(Clone, Copy)]
pub(super) struct DataRequest<'a> {
    pub(super) kind: RequestKind,
    pub(super) container: &'a ContainerPath,
    pub(super) item: Option<&'a str>,
    pub(super) request: &'a Request,
}

/// The operation of a request, as far as this module treats operations differently.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoreOperation {
    Data {
        kind: RequestKind,
        container: ContainerPath,
        item: Option<String>,
    },
    Containers(ContainersChange),
    /// Metadata that the emulator answers alone: the account, reads of databases and containers,
    /// partition key ranges, query plans, offers; also all that it refuses.
    Metadata,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContainersChange {
    Create { database: String },
    Replace(ContainerPath),
    Delete(ContainerPath),
    DeleteDatabase { database: String },
}

impl StoreOperation {
    pub(super) fn from_request(request: &Request) -> Self {
        let segments = segments(request.url());
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let path = |database: &str, container: &str| ContainerPath {
            database: database.to_owned(),
            container: container.to_owned(),
        };
        match (request.method(), segments.as_slice()) {
            (Method::Delete, ["dbs", database]) => {
                Self::Containers(ContainersChange::DeleteDatabase {
                    database: (*database).to_owned(),
                })
            }
            (Method::Post, ["dbs", database, "colls"]) if !is_query(request) => {
                Self::Containers(ContainersChange::Create { database: (*database).to_owned() })
            }
            (Method::Put, ["dbs", database, "colls", container]) => {
                Self::Containers(ContainersChange::Replace(path(database, container)))
            }
            (Method::Delete, ["dbs", database, "colls", container]) => {
                Self::Containers(ContainersChange::Delete(path(database, container)))
            }
            (method, ["dbs", database, "colls", container, "docs", item @ ..])
                if item.len() <= 1 =>
            {
                match data_kind(method, !item.is_empty(), request) {
                    Some(kind) => Self::Data {
                        kind,
                        container: path(database, container),
                        item: item.first().map(|id| (*id).to_owned()),
                    },
                    None => Self::Metadata,
                }
            }
            _ => Self::Metadata,
        }
    }
}

fn data_kind(method: Method, names_an_item: bool, request: &Request) -> Option<RequestKind> {
    let kind = match (method, names_an_item) {
        (Method::Get, false) if header(request, &CHANGE_FEED).is_some() => RequestKind::ChangeFeed,
        (Method::Get, false) => RequestKind::ReadFeed,
        (Method::Post, false) if is_header_true(request, &IS_QUERY_PLAN) => return None,
        (Method::Post, false) if is_query(request) => RequestKind::Query,
        (Method::Post, false) if is_header_true(request, &IS_BATCH) => RequestKind::Batch,
        (Method::Post, false) if is_header_true(request, &IS_UPSERT) => RequestKind::Upsert,
        (Method::Post, false) => RequestKind::Create,
        (Method::Get, true) => RequestKind::Read,
        (Method::Put, true) => RequestKind::Replace,
        (Method::Patch, true) => RequestKind::Patch,
        (Method::Delete, true) => RequestKind::Delete,
        _ => return None,
    };
    Some(kind)
}

/// Returns true if a request is for one logical partition.
pub(super) fn names_partition_key(request: &Request) -> bool {
    header(request, &PARTITION_KEY).is_some_and(|key| key != "[]")
}

pub(super) fn is_query(request: &Request) -> bool {
    is_header_true(request, &IS_QUERY) || is_header_true(request, &IS_QUERY_OF_OLD_SDKS)
}

fn is_header_true(request: &Request, name: &HeaderName) -> bool {
    header(request, name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Returns a header of a request.
pub(super) fn header<'a>(request: &'a Request, name: &HeaderName) -> Option<&'a str> {
    request.headers().get_optional_str(name)
}

/// Returns the decoded segments of a path.
pub(super) fn segments(url: &Url) -> Vec<String> {
    let segments = url.path().split('/').filter(|segment| !segment.is_empty());
    segments.map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned()).collect()
}

/// Removes the slash with which the Python SDK ends its paths.
pub(super) fn strip_trailing_slash(url: &mut Url) {
    let path = url.path().trim_end_matches('/');
    if path.len() < url.path().len() {
        let path = path.to_owned();
        url.set_path(&path);
    }
}

/// Wraps the bare array of operations that the JavaScript SDK sends as a patch without a condition.
pub(super) fn wrap_bare_patch(operation: &StoreOperation, request: &mut Request) {
    let is_patch = matches!(operation, StoreOperation::Data { kind: RequestKind::Patch, .. });
    if !is_patch {
        return;
    }
    let body = body_of(request);
    if body.trim_ascii_start().starts_with(b"[") {
        let wrapped = [br#"{"operations":"#.as_slice(), body.as_ref(), b"}"].concat();
        request.set_body(wrapped);
    }
}

/// An item that a request writes. In a batch it may be read alone.
#[derive(Debug)]
pub(super) struct WrittenItem {
    pub(super) kind: RequestKind,
    pub(super) id: String,
    /// The new state. Only a read of the item shows that after a patch, and a deletion has none.
    pub(super) new: Option<ItemVersion>,
    /// The number of operations of a patch.
    pub(super) n_patches: u32,
}

/// Returns the items that a data-plane request writes; none if it does not write or is malformed.
pub(super) fn written_items(
    DataRequest { kind, item, request, .. }: DataRequest<'_>,
) -> Vec<WrittenItem> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct BatchOperation {
        operation_type: RequestKind,
        id: Option<String>,
        resource_body: Option<Value>,
    }
    if kind == RequestKind::Batch {
        let operations: Vec<BatchOperation> = parse(request).unwrap_or_default();
        let operations = operations.into_iter();
        return operations
            .filter_map(|BatchOperation { operation_type, id, resource_body }| {
                let bytes = resource_body.as_ref().map_or(0, |body| body.to_string().len());
                WrittenItem::new(operation_type, id, resource_body, bytes)
            })
            .collect();
    }
    let body = if kind.is_write() { parse(request) } else { None };
    let id = item.filter(|_| kind.is_write()).map(str::to_owned);
    WrittenItem::new(kind, id, body, body_of(request).len()).into_iter().collect()
}

impl WrittenItem {
    fn new(
        kind: RequestKind,
        id: Option<String>,
        body: Option<Value>,
        bytes: usize,
    ) -> Option<Self> {
        let of_body = |body: &Value| body.get("id")?.as_str().map(str::to_owned);
        let id = id.or_else(|| of_body(body.as_ref()?))?;
        let patches = body.as_ref().and_then(|body| body.get("operations")?.as_array());
        let n_patches = u32::try_from(patches.map_or(0, Vec::len)).unwrap_or(u32::MAX);
        let new = body.filter(|_| kind != RequestKind::Patch);
        let new = new.map(|item| ItemVersion { item, bytes });
        Some(Self { kind, id, new, n_patches })
    }
}

/// Returns the time that an item lives after its last write, in seconds; `None` is for ever. Without a
/// usable `ttl` of its own an item follows the container.
pub(super) fn lifetime(ttl: Option<&Value>, default_ttl: i64) -> Option<u64> {
    let own = ttl.and_then(Value::as_i64);
    u64::try_from(own.unwrap_or(default_ttl)).ok()
}

pub(super) fn body_of(request: &Request) -> Bytes {
    Bytes::from(request.body())
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
