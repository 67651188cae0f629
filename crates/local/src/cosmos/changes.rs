//! Pages of the change feed, as the service writes them.
//!
//! The emulator's feed has the items in their order, but not their log sequence numbers (LSN), and
//! its continuations are objects. In the service
//!
//! - every item has its LSN, `_lsn`, or `metadata.lsn` in the form that the Rust SDK asks for;
//! - the ETag of a page, with which the next one begins, is that of its last item, a quoted number;
//! - items that one transaction wrote have one LSN, so a page has all of them or none;
//! - a page ends at 4 MB;
//! - a feed from a time, which is how the .NET SDK asks for "from now", has what was written after it.
//!
//! No write happens while a page is made, so its items and their LSNs belong together.

use azure_core::{
    Bytes,
    http::{
        Method, Request,
        headers::{ETAG, HeaderName},
    },
};
use azure_data_cosmos::CosmosError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};

use super::{
    account::Account,
    backend::Response,
    containers::{ContainerInfo, KnownContainers},
    operation::{ContainerPath, PARTITION_KEY},
    pages::MAX_PAGE_BYTES,
    replicas::Replicas,
    slices::{ITEM_COUNT, MAX_ITEM_COUNT, RANGE_ID},
};

const IF_MODIFIED_SINCE: HeaderName = HeaderName::from_static("if-modified-since");
const IF_NONE_MATCH: HeaderName = HeaderName::from_static("if-none-match");
const ITEM_LSN: HeaderName = HeaderName::from_static("x-ms-item-lsn");
const WIRE_FORMAT: HeaderName =
    HeaderName::from_static("x-ms-cosmos-changefeed-wire-format-version");

/// The number of items that one transaction writes at most.
const MAX_BATCH_OPERATIONS: usize = 100;

/// A continuation of the emulator behind all items up to an LSN.
#[derive(Deserialize, Serialize)]
struct FeedCursor {
    kind: String,
    lsn: u64,
    epk: String,
    id: String,
}

#[derive(Deserialize, Serialize)]
struct Page<'a> {
    #[serde(borrow, rename = "_rid")]
    rid: &'a RawValue,
    #[serde(borrow, rename = "Documents")]
    documents: Vec<&'a RawValue>,
    #[serde(rename = "_count")]
    count: usize,
}

/// An item of the feed, with its LSN in its text.
struct FeedChange {
    lsn: u64,
    text: Box<RawValue>,
}

/// Answers a page of the change feed.
pub(super) async fn page(
    account: &Account,
    containers: &KnownContainers,
    replicas: &Replicas,
    path: &ContainerPath,
    request: &Request,
) -> Result<Response, CosmosError> {
    let _alone = replicas.alone().await;
    let Some(container) = containers.get(path).await else {
        return account.send(request).await;
    };
    let feed = Feed { account, path, container: &container };
    let limit = header(request, &MAX_ITEM_COUNT).and_then(|limit| limit.parse::<usize>().ok());
    let limit = limit.filter(|limit| *limit > 0);
    let begin = feed.beginning(request).await?;
    // The rest of the last transaction may come behind the limit.
    let wanted =
        limit.map_or(-1, |limit| i64::try_from(limit + MAX_BATCH_OPERATIONS).unwrap_or(-1));
    let mut response = account.send(&asked(request, begin.as_deref(), wanted)).await?;
    if header_of(&response, &RANGE_ID).is_none() {
        // Several physical partitions, or none: no number tells where the feed stands.
        return account.send(request).await;
    }
    match response.status {
        200 => feed.write(response, limit.unwrap_or(usize::MAX)).await,
        304 => {
            let cursor =
                header_of(&response, &ETAG).and_then(|token| serde_json::from_str(token).ok());
            if let Some(FeedCursor { lsn, .. }) = cursor {
                response.headers.insert(ETAG, quoted(lsn));
            }
            Ok(response)
        }
        _ => Ok(response),
    }
}

struct Feed<'a> {
    account: &'a Account,
    path: &'a ContainerPath,
    container: &'a ContainerInfo,
}

impl Feed<'_> {
    /// Returns the emulator's continuation from which the page starts; `None` at the beginning.
    async fn beginning(&self, request: &Request) -> Result<Option<String>, CosmosError> {
        if let Some(given) = header(request, &IF_NONE_MATCH) {
            let number = given.trim_matches('"').parse().ok();
            return Ok(Some(number.map_or_else(|| given.to_owned(), behind)));
        }
        let since = header(request, &IF_MODIFIED_SINCE).and_then(|text| {
            OffsetDateTime::parse(text, &Rfc2822).ok().map(OffsetDateTime::unix_timestamp)
        });
        match since {
            Some(since) => self.written_after(since, request).await,
            None => Ok(None),
        }
    }

    /// Returns the continuation behind the items that were written up to a time, in seconds since 1970.
    async fn written_after(
        &self,
        since: i64,
        request: &Request,
    ) -> Result<Option<String>, CosmosError> {
        let mut all = asked(request, None, -1);
        all.headers_mut().remove(WIRE_FORMAT);
        let response = self.account.send(&all).await?;
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let items = body["Documents"].as_array().map(Vec::as_slice).unwrap_or_default();
        let older = items.iter().take_while(|item| item["_ts"].as_i64() <= Some(since));
        let Some(last) = older.last() else {
            return Ok(None);
        };
        Ok(self.lsn(last).await.map(behind))
    }

    /// Returns the LSN of an item.
    async fn lsn(&self, item: &Value) -> Option<u64> {
        let mut read = self.account.request(Method::Get, &self.path.item(item["id"].as_str()?));
        let value = |path: &String| item.pointer(path).cloned().unwrap_or_else(|| json!({}));
        let key: Vec<Value> = self.container.partition_key.paths.iter().map(value).collect();
        read.insert_header(PARTITION_KEY, Value::from(key).to_string());
        let response = self.account.send(&read).await.ok()?;
        header_of(&response, &ITEM_LSN)?.parse().ok()
    }

    /// Returns the answer with the first `limit` items of the emulator's answer and their LSNs.
    async fn write(&self, mut response: Response, limit: usize) -> Result<Response, CosmosError> {
        let body = std::mem::take(&mut response.body);
        let page: Page<'_> = serde_json::from_slice(&body).map_err(malformed)?;
        let mut changes = Vec::<FeedChange>::new();
        let mut bytes = 0;
        // The start of the last transaction's items, and the number of bytes before it.
        let mut last = (0, 0);
        for document in &page.documents {
            let change = self.change(document, changes.last()).await?;
            if changes.last().is_none_or(|before| before.lsn != change.lsn) {
                if changes.len() >= limit {
                    break;
                }
                last = (changes.len(), bytes);
            }
            bytes += change.text.get().len();
            if bytes > MAX_PAGE_BYTES && last.0 > 0 {
                changes.truncate(last.0);
                break;
            }
            changes.push(change);
        }
        let end = changes.last().map_or(0, |change| change.lsn);
        let documents: Vec<_> = changes.iter().map(|change| &*change.text).collect();
        let count = documents.len();
        let page = Page { rid: page.rid, documents, count };
        response.body = Bytes::from(serde_json::to_vec(&page).map_err(malformed)?);
        response.headers.insert(ITEM_COUNT, count.to_string());
        response.headers.insert(ETAG, quoted(end));
        Ok(response)
    }

    async fn change(
        &self,
        document: &RawValue,
        before: Option<&FeedChange>,
    ) -> Result<FeedChange, CosmosError> {
        #[derive(Deserialize, Serialize)]
        struct Envelope<'a> {
            #[serde(borrow)]
            current: &'a RawValue,
            metadata: Map<String, Value>,
        }
        let envelope: Option<Envelope<'_>> = serde_json::from_str(document.get()).ok();
        let current = envelope.as_ref().map_or(document, |envelope| envelope.current);
        let item: Value = serde_json::from_str(current.get()).map_err(malformed)?;
        // An item that has just expired has no LSN any more.
        let lsn = self.lsn(&item).await.or(before.map(|before| before.lsn)).unwrap_or(0);
        let text = match envelope {
            Some(mut envelope) => {
                envelope.metadata.insert("lsn".to_owned(), json!(lsn));
                serde_json::to_string(&envelope).map_err(malformed)?
            }
            None => current.get().replacen('{', &format!("{{\"_lsn\":{lsn},"), 1),
        };
        Ok(FeedChange { lsn, text: RawValue::from_string(text).map_err(malformed)? })
    }
}

/// Returns the request for `limit` items behind a continuation of the emulator.
fn asked(request: &Request, behind: Option<&str>, limit: i64) -> Request {
    let mut asked = Request::new(request.url().clone(), request.method());
    *asked.headers_mut() = request.headers().clone();
    asked.headers_mut().remove(IF_MODIFIED_SINCE);
    asked.insert_header(MAX_ITEM_COUNT, limit.to_string());
    if let Some(behind) = behind {
        asked.insert_header(IF_NONE_MATCH, behind.to_owned());
    }
    asked
}

/// Returns the emulator's continuation behind all items with this LSN.
fn behind(lsn: u64) -> String {
    // All keys are lower than this one.
    let kind = "change_feed_cursor_v1";
    let epk = "FF";
    json!({"kind": kind, "lsn": lsn, "epk": epk, "id": ""}).to_string()
}

fn quoted(lsn: u64) -> String {
    format!("\"{lsn}\"")
}

fn header<'a>(request: &'a Request, name: &HeaderName) -> Option<&'a str> {
    request.headers().get_optional_str(name)
}

fn header_of<'a>(response: &'a Response, name: &HeaderName) -> Option<&'a str> {
    response.headers.get_optional_str(name)
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn malformed(error: serde_json::Error) -> CosmosError {
    let message = format!("a page of the change feed cannot be read: {error}");
    CosmosError::builder().with_message(message).build()
}
