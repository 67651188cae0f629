//! Conversion of an HTTP request into a request to the store, and of its answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use azure_core::base64;
use azure_core::http::headers::HeaderName as StoreHeader;
use azure_core::http::{Method, Request as CoreRequest, Url};
use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::account::Account;
use super::authorization;
use super::emulator::Response as StoreResponse;
use super::operation::{PARTITION_KEY, segments};
use super::store::EndpointStore;
use crate::callers;

/// The largest body that is accepted, in bytes: an item or a batch has at most 2 MB
/// (<https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits>), and the
/// store refuses those above that itself.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The number of bytes of a larger body that are read before the answer: a client that is still sending
/// would otherwise see a reset connection in place of the 413.
const MAX_DISCARDED_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone)]
struct Gateway {
    store: Arc<EndpointStore>,
    /// The address that the account tells clients, with a trailing slash.
    advertised: Arc<str>,
}

pub(super) fn router(store: Arc<EndpointStore>, advertised: String) -> Router {
    Router::new().fallback(answer).with_state(Gateway { store, advertised: advertised.into() })
}

async fn answer(State(gateway): State<Gateway>, request: Request<Body>) -> Response {
    let core = match gateway.accept(request).await {
        Ok(core) => core,
        Err(refusal) => return refusal,
    };
    let is_account = core.url().path() == "/";
    // A panic of the emulator must not look like a lost connection to the client.
    let executed = AssertUnwindSafe(gateway.store.execute(core)).catch_unwind().await;
    match executed {
        Ok(Ok(response)) if is_account => gateway.account(response),
        Ok(Ok(response)) => into_http(response),
        Ok(Err(error)) => refuse(StatusCode::BAD_REQUEST, &error.to_string()),
        Err(_) => refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the in-memory emulator failed on this request; the log has the reason",
        ),
    }
}

impl Gateway {
    async fn accept(&self, request: Request<Body>) -> Result<CoreRequest, Response> {
        let (parts, body) = request.into_parts();
        let allowed_hosts = &self.store.allowed_hosts;
        if let Some(reason) = callers::refusal(&parts.uri, &parts.headers, allowed_hosts, &[]) {
            return Err(refuse(StatusCode::FORBIDDEN, &reason));
        }
        if let Err(reason) = authorization::check(&parts.method, parts.uri.path(), &parts.headers) {
            return Err(refuse(StatusCode::UNAUTHORIZED, reason));
        }
        let Ok(method) = parts.method.as_str().parse::<Method>() else {
            let message = "The requested verb is not supported.";
            return Err(refuse(StatusCode::METHOD_NOT_ALLOWED, message));
        };
        // HTTP/2 requests carry an absolute URI, whose host the store does not know.
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let base = self.store.base_url().as_str().trim_end_matches('/');
        let Ok(url) = Url::parse(&format!("{base}{path}")) else {
            let message = "The path of the request is malformed.";
            return Err(refuse(StatusCode::BAD_REQUEST, message));
        };

        let mut core = CoreRequest::new(url, method);
        for (name, value) in &parts.headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            core.insert_header(name.as_str().to_owned(), value);
        }
        let body = read_bounded(body).await?;
        if !body.is_empty() {
            core.set_body(body);
        }
        Ok(core)
    }

    fn account(&self, mut response: StoreResponse) -> Response {
        let text = String::from_utf8_lossy(&response.body)
            .replace(self.store.base_url().as_str(), &self.advertised);
        response.body = Bytes::from(text);
        into_http(response)
    }
}

async fn read_bounded(mut body: Body) -> Result<Bytes, Response> {
    let mut read = BytesMut::new();
    let mut n_bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let message = format!("The body of the request ended early: {error}");
            refuse(StatusCode::BAD_REQUEST, &message)
        })?;
        let Ok(data) = frame.into_data() else { continue };
        n_bytes += data.len();
        if n_bytes <= MAX_BODY_BYTES {
            read.extend_from_slice(&data);
        } else if n_bytes > MAX_DISCARDED_BYTES {
            break;
        }
    }
    if n_bytes > MAX_BODY_BYTES {
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "Request size is too large"));
    }
    Ok(read.freeze())
}

fn into_http(response: StoreResponse) -> Response {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut http = (status, response.body).into_response();
    for (name, value) in response.headers.iter() {
        if let (Ok(name), Ok(value)) =
            (HeaderName::try_from(name.as_str()), HeaderValue::from_str(value.as_str()))
        {
            http.headers_mut().insert(name, value);
        }
    }
    http
}

fn refuse(status: StatusCode, message: &str) -> Response {
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "RequestEntityTooLarge".to_owned(),
        _ => status.canonical_reason().unwrap_or_default().replace(' ', ""),
    };
    let body = serde_json::json!({ "code": code, "message": message });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body.to_string()).into_response()
}

const IS_QUERY: StoreHeader = StoreHeader::from_static("x-ms-documentdb-isquery");
const CONTENT_TYPE: StoreHeader = StoreHeader::from_static("content-type");

/// The lengths of the ids of databases, containers and items, in bytes.
const DATABASE_RID_BYTES: usize = 4;
const CONTAINER_RID_BYTES: usize = 8;
const ITEM_RID_BYTES: usize = 16;

pub(super) fn is_rid(segment: &str) -> bool {
    [DATABASE_RID_BYTES, CONTAINER_RID_BYTES, ITEM_RID_BYTES]
        .iter()
        .any(|bytes| is_rid_of(segment, *bytes))
}

fn is_rid_of(segment: &str, bytes: usize) -> bool {
    // The service writes `-` where base64 has `/`, which would end a segment.
    segment.len() == bytes.div_ceil(3) * 4
        && base64::decode(segment.replace('-', "/")).is_ok_and(|decoded| decoded.len() == bytes)
}

/// Replaces the `_rid`s in the address of a request by names. A name of this form stays, and the
/// emulator answers 404 for an unknown `_rid`.
pub(super) async fn replace_by_names(account: &Account, request: &mut CoreRequest) {
    let Some(names) = names(account, request).await else {
        return;
    };
    if let Ok(mut segments) = request.url_mut().path_segments_mut() {
        segments.clear().extend(names);
    }
}

/// Returns the segments of the address with names; `None` if there is no `_rid` to replace.
async fn names(account: &Account, request: &CoreRequest) -> Option<Vec<String>> {
    let mut segments = segments(request.url());
    let is_database = matches!(&segments[..], [dbs, database, ..] if dbs == "dbs" && is_rid_of(database, DATABASE_RID_BYTES));
    if !is_database {
        return None;
    }
    let named = account.send(&account.request(Method::Get, &["dbs", &segments[1]])).await.ok()?;
    if named.status == 200 {
        return None;
    }
    segments[1] = name(account, &["dbs"], "Databases", &segments[1]).await?;
    let names_container = segments.len() > 3 && segments[2] == "colls";
    if names_container && is_rid_of(&segments[3], CONTAINER_RID_BYTES) {
        let all = ["dbs", &segments[1], "colls"];
        segments[3] = name(account, &all, "DocumentCollections", &segments[3]).await?;
    }
    let names_item = segments.len() == 6 && segments[4] == "docs";
    if names_item && is_rid_of(&segments[5], ITEM_RID_BYTES) {
        segments[5] = item(account, &segments, request).await?;
    }
    Some(segments)
}

/// Finds the name of the database or container with this `_rid`.
async fn name(account: &Account, all: &[&str], list: &str, rid: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct NamedResource {
        id: String,
        #[serde(rename = "_rid")]
        rid: String,
    }
    let response = account.send(&account.request(Method::Get, all)).await.ok()?;
    let mut body: Value = serde_json::from_slice(&response.body).ok()?;
    let all: Vec<NamedResource> = serde_json::from_value(body.get_mut(list)?.take()).ok()?;
    all.into_iter().find(|resource| resource.rid == rid).map(|resource| resource.id)
}

/// Finds the id of the item with this `_rid` in the logical partition of the request.
async fn item(account: &Account, segments: &[String], request: &CoreRequest) -> Option<String> {
    let partition_key = request.headers().get_optional_string(&PARTITION_KEY)?;
    let items: Vec<&str> = segments[..5].iter().map(String::as_str).collect();
    let mut query = account.request(Method::Post, &items);
    query.insert_header(IS_QUERY, "True");
    query.insert_header(CONTENT_TYPE, "application/query+json");
    query.insert_header(PARTITION_KEY, partition_key);
    let rid = json!([{"name": "@rid", "value": segments[5]}]);
    let body = json!({"query": "SELECT VALUE c.id FROM c WHERE c._rid = @rid", "parameters": rid});
    query.set_body(body.to_string());
    let response = account.send(&query).await.ok()?;
    let body: Value = serde_json::from_slice(&response.body).ok()?;
    body["Documents"].get(0)?.as_str().map(str::to_owned)
}
