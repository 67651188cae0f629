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

use std::collections::BTreeMap;

use azure_core::Bytes;
use azure_core::http::Request;
use azure_core::http::headers::{ETAG, HeaderName, Headers};
use azure_data_cosmos::CosmosError;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use super::emulator::{Response, failure};
use super::feed_order::{FeedOrder, FeedSource};
use super::operation::{CHANGE_FEED, ContainerPath, PARTITION_KEY, header};
use super::pages::{DocumentsPage, MAX_PAGE_BYTES};
use super::slices::{self, ITEM_COUNT, KEY_TYPE, MAX_ITEM_COUNT, RANGE_ID};
use super::store::EndpointStore;

const IF_MODIFIED_SINCE: HeaderName = HeaderName::from_static("if-modified-since");
const IF_NONE_MATCH: HeaderName = HeaderName::from_static("if-none-match");
const WIRE_FORMAT: HeaderName =
    HeaderName::from_static("x-ms-cosmos-changefeed-wire-format-version");

const MAX_BATCH_OPERATIONS: usize = 100;

pub(super) async fn page(
    EndpointStore { account, containers, replicas, feed_orders, .. }: &EndpointStore,
    path: &ContainerPath,
    request: &Request,
) -> Result<Response, CosmosError> {
    let _alone = replicas.alone().await;
    let Some(container) = containers.get(path).await else {
        return account.send(request).await;
    };
    let feed = Feed { source: FeedSource { account, path, container: &container }, request };
    let behind = feed.beginning().await?;
    if let Some(partition) = whole_partition(request)
        && let Behind::Lsn(lsn) = behind
    {
        let mut order = feed_orders.take(path);
        let page = feed.in_order(&mut order, partition, lsn).await?;
        feed_orders.keep(path, order);
        if let Some(page) = page {
            return Ok(page);
        }
    }
    feed.scanned(&behind).await
}

enum Behind {
    /// All items up to a log sequence number; 0 is the beginning.
    Lsn(u64),
    /// A continuation of the emulator.
    Emulator(String),
}

#[derive(Clone, Copy)]
struct Feed<'a> {
    source: FeedSource<'a>,
    request: &'a Request,
}

impl Feed<'_> {
    async fn beginning(self) -> Result<Behind, CosmosError> {
        if let Some(given) = header(self.request, &IF_NONE_MATCH) {
            let lsn = given.trim_matches('"').parse();
            return Ok(lsn.map_or_else(|_| Behind::Emulator(given.to_owned()), Behind::Lsn));
        }
        let since = header(self.request, &IF_MODIFIED_SINCE).and_then(|text| {
            OffsetDateTime::parse(text, &Rfc2822).ok().map(OffsetDateTime::unix_timestamp)
        });
        let lsn = match since {
            Some(since) => self.written_until(since).await?,
            None => 0,
        };
        Ok(Behind::Lsn(lsn))
    }

    /// Returns the LSN of the last item that was written up to a time, in seconds since 1970.
    async fn written_until(self, since: i64) -> Result<u64, CosmosError> {
        let mut all = self.asked(&Behind::Lsn(0), -1);
        all.headers_mut().remove(WIRE_FORMAT);
        let response = self.source.account.send(&all).await?;
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let items = body["Documents"].as_array().map(Vec::as_slice).unwrap_or_default();
        let older = items.iter().take_while(|item| item["_ts"].as_i64() <= Some(since));
        match older.last() {
            Some(last) => Ok(self.source.lsn(last).await.unwrap_or(0)),
            None => Ok(0),
        }
    }

    /// Returns the page of a whole physical partition; `None` if a scan has to answer.
    async fn in_order(
        self,
        order: &mut FeedOrder,
        partition: &str,
        behind: u64,
    ) -> Result<Option<Response>, CosmosError> {
        let Ok(id) = partition.parse() else { return Ok(None) };
        if !order.follow(self.source).await? {
            return Ok(None);
        }
        let Some(order) = order.partition(id) else { return Ok(None) };
        if order.headers.is_none() {
            order.headers = self.headers(partition).await?;
        }
        let Some(headers) = order.headers.clone() else { return Ok(None) };
        let mut page = Page::new(self.limit());
        let has_metadata = header(self.request, &WIRE_FORMAT).is_some();
        let read = order.read(self.source, behind, |lsn, item| {
            let item: &RawValue = serde_json::from_slice(item).map_err(malformed)?;
            // As the emulator writes it, in the form that the Rust SDK asks for.
            let metadata = |Written { ts }| json!({"crts": ts});
            let written = has_metadata.then(|| serde_json::from_str(item.get()));
            let metadata = written.transpose().map_err(malformed)?.map(metadata);
            Ok(page.add(FeedChange::new(item, metadata, lsn)?))
        });
        if !read.await? {
            return Ok(None);
        }
        let (body, rid) = (Bytes::new(), &self.source.container.rid);
        let response = Response { status: 304, headers, body, items_loaded: None };
        page.into_response(response, rid, behind).map(Some)
    }

    /// Returns the headers of a page of a physical partition, from one that has next to no items; `None` if the
    /// emulator answers with an error.
    async fn headers(self, partition: &str) -> Result<Option<Headers>, CosmosError> {
        let FeedSource { account, path, .. } = self.source;
        let Some((start, _)) = slices::bounds(account, path, partition).await else {
            return Ok(None);
        };
        let mut narrow = self.asked(&Behind::Lsn(0), 1);
        slices::narrow(&mut narrow, start, Some(slices::epk(start + 1)));
        let response = account.send(&narrow).await?;
        Ok(matches!(response.status, 200 | 304).then_some(response.headers))
    }

    /// Returns the page of any part of the container, for which the emulator scans all items.
    async fn scanned(self, behind: &Behind) -> Result<Response, CosmosError> {
        let FeedSource { account, container, .. } = self.source;
        // The rest of the last transaction may come behind the limit.
        let wanted = self.limit().saturating_add(MAX_BATCH_OPERATIONS);
        let asked = self.asked(behind, i64::try_from(wanted).unwrap_or(-1));
        let mut response = account.send(&asked).await?;
        if response.header(&RANGE_ID).is_none() {
            // Several physical partitions, or none: no number tells where the feed stands.
            return account.send(self.request).await;
        }
        match response.status {
            200 => {}
            304 => {
                let etag = response.header(&ETAG);
                let cursor = etag.and_then(|token| serde_json::from_str(token).ok());
                if let Some(Cursor { lsn }) = cursor {
                    response.headers.insert(ETAG, quoted(lsn));
                }
                return Ok(response);
            }
            _ => return Ok(response),
        }
        let body = std::mem::take(&mut response.body);
        let all: DocumentsPage<'_> = serde_json::from_slice(&body).map_err(malformed)?;
        let mut page = Page::new(self.limit());
        for document in all.documents {
            let scanned: Option<Scanned<'_>> = serde_json::from_str(document.get()).ok();
            let (current, metadata) = scanned
                .map_or((document, None), |Scanned { current, metadata }| {
                    (current, Some(metadata))
                });
            let item = serde_json::from_str(current.get()).map_err(malformed)?;
            // An item that has just expired has no LSN any more.
            let lsn = self.source.lsn(&item).await.unwrap_or_else(|| page.end().unwrap_or(0));
            if !page.add(FeedChange::new(current, metadata, lsn)?) {
                break;
            }
        }
        page.into_response(response, &container.rid, 0)
    }

    /// Returns the request for `limit` items behind a position, all if it is negative.
    fn asked(self, behind: &Behind, limit: i64) -> Request {
        let mut asked = self.request.clone();
        asked.headers_mut().remove(IF_MODIFIED_SINCE);
        asked.headers_mut().remove(IF_NONE_MATCH);
        asked.insert_header(MAX_ITEM_COUNT, limit.to_string());
        match behind {
            Behind::Lsn(0) => {}
            Behind::Lsn(lsn) => asked.insert_header(IF_NONE_MATCH, Cursor::behind(*lsn)),
            Behind::Emulator(token) => asked.insert_header(IF_NONE_MATCH, token.clone()),
        }
        asked
    }

    fn limit(self) -> usize {
        let limit = header(self.request, &MAX_ITEM_COUNT).and_then(|limit| limit.parse().ok());
        limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX)
    }
}

/// Returns the physical partition whose newest versions a request asks for, all of them.
fn whole_partition(request: &Request) -> Option<&str> {
    let is_latest = header(request, &CHANGE_FEED)?.eq_ignore_ascii_case("Incremental feed");
    let is_whole = [PARTITION_KEY, KEY_TYPE].iter().all(|part| header(request, part).is_none());
    header(request, &RANGE_ID).filter(|_| is_latest && is_whole)
}

/// A continuation of the emulator.
#[derive(Deserialize)]
struct Cursor {
    lsn: u64,
}

impl Cursor {
    /// Returns the continuation behind all items with this LSN.
    fn behind(lsn: u64) -> String {
        // All keys are lower than this one.
        let epk = "FF";
        json!({"kind": "change_feed_cursor_v1", "lsn": lsn, "epk": epk, "id": ""}).to_string()
    }
}

/// An item of a page, in the form that the Rust SDK asks for.
#[derive(Deserialize)]
struct Scanned<'a> {
    #[serde(borrow)]
    current: &'a RawValue,
    metadata: Value,
}

/// The time of the last write of an item.
#[derive(Deserialize)]
struct Written {
    #[serde(rename = "_ts")]
    ts: Value,
}

struct FeedChange {
    lsn: u64,
    text: Box<RawValue>,
}

impl FeedChange {
    fn new(item: &RawValue, metadata: Option<Value>, lsn: u64) -> Result<Self, CosmosError> {
        #[derive(Serialize)]
        struct Change<'a> {
            current: &'a RawValue,
            metadata: Value,
        }
        let text = if let Some(mut metadata) = metadata {
            metadata["lsn"] = json!(lsn);
            serde_json::to_string(&Change { current: item, metadata })
        } else {
            // It replaces a property of this name that another program has written.
            let lsn = to_raw_value(&lsn).map_err(malformed)?;
            let mut fields: BTreeMap<String, &RawValue> =
                serde_json::from_str(item.get()).map_err(malformed)?;
            fields.insert("_lsn".to_owned(), &lsn);
            serde_json::to_string(&fields)
        };
        let text = text.map_err(malformed)?;
        Ok(Self { lsn, text: RawValue::from_string(text).map_err(malformed)? })
    }
}

struct Page {
    limit: usize,
    changes: Vec<FeedChange>,
    bytes: usize,
    /// The number of items before those of the last transaction.
    complete: usize,
}

impl Page {
    fn new(limit: usize) -> Self {
        Self { limit, changes: Vec::new(), bytes: 0, complete: 0 }
    }

    /// Adds the next item of the feed. Returns false if the page has no place for it, and so is complete.
    fn add(&mut self, change: FeedChange) -> bool {
        if self.end() != Some(change.lsn) {
            if self.changes.len() >= self.limit {
                return false;
            }
            self.complete = self.changes.len();
        }
        self.bytes += change.text.get().len();
        if self.bytes > MAX_PAGE_BYTES && self.complete > 0 {
            self.changes.truncate(self.complete);
            return false;
        }
        self.changes.push(change);
        true
    }

    fn end(&self) -> Option<u64> {
        self.changes.last().map(|change| change.lsn)
    }

    /// Writes the page, which starts behind an LSN, into an answer with its headers.
    fn into_response(
        self,
        mut response: Response,
        rid: &str,
        behind: u64,
    ) -> Result<Response, CosmosError> {
        response.headers.insert(ETAG, quoted(self.end().unwrap_or(behind)));
        let documents: Vec<_> = self.changes.iter().map(|change| &*change.text).collect();
        let count = documents.len();
        response.headers.insert(ITEM_COUNT, count.to_string());
        if count == 0 {
            response.status = 304;
            response.body = Bytes::new();
        } else {
            let page = DocumentsPage { rid: rid.into(), documents, count };
            response.status = 200;
            response.body = Bytes::from(serde_json::to_vec(&page).map_err(malformed)?);
        }
        Ok(response)
    }
}

fn quoted(lsn: u64) -> String {
    format!("\"{lsn}\"")
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn malformed(error: serde_json::Error) -> CosmosError {
    failure(format_args!("a page of the change feed cannot be read: {error}"))
}
