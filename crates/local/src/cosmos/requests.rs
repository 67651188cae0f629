//! The log of the data-plane requests, which counts the store requests of an API request.

use std::sync::Mutex;

use cosmos_store::http::{ItemsOperation, Kind, Touched};
use cosmos_store::json::Json;
use http::{HeaderMap, Request, Response};

use super::store::Bytes;
use crate::lock;

/// A data-plane request that reached the store. Retries of an SDK are requests of their own.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoreRequest {
    /// The kind of the request.
    pub kind: Kind,
    /// The container's name.
    pub container: String,
    /// True if it named a partition key.
    pub names_partition_key: bool,
    /// The partition key, as JSON.
    pub partition_key: Option<String>,
    /// True if it was sent with low priority.
    pub low_priority: bool,
    /// The text of a query.
    pub query: Option<String>,
    /// The answer; `None` while the request is under way, or if the answer was lost.
    pub answer: Option<StoreAnswer>,
}

/// The work of the store for a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoreAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The physical partition that answered, where it was a single one.
    pub physical_partition: Option<String>,
    /// Items that pass the filter of a query or a feed, returned or not.
    pub items_loaded: u32,
    /// Items in the answer.
    pub items_returned: u32,
    /// The charge.
    pub request_units: f64,
}

impl StoreRequest {
    pub(super) fn new(operation: &ItemsOperation, request: &Request<Bytes>) -> Self {
        let headers = request.headers();
        let partition_key =
            text(headers, "x-ms-documentdb-partitionkey").filter(|key| *key != "[]");
        let [_, container] = operation.names.clone();
        let query = || Json::parse(request.body()).ok()?.get("query")?.as_str().map(str::to_owned);
        Self {
            kind: operation.kind,
            container,
            names_partition_key: partition_key.is_some(),
            partition_key: partition_key.map(str::to_owned),
            low_priority: text(headers, "x-ms-cosmos-priority-level")
                .is_some_and(|level| level.eq_ignore_ascii_case("low")),
            query: if operation.kind == Kind::Query { query() } else { None },
            answer: None,
        }
    }
}

impl StoreAnswer {
    pub(super) fn new(operation: &ItemsOperation, answer: &Response<Bytes>) -> Self {
        let touched = answer.extensions().get::<Touched>().copied().unwrap_or_default();
        let status = answer.status().as_u16();
        let read = u32::from(operation.kind == Kind::Read && status == 200);
        Self {
            status,
            physical_partition: text(answer.headers(), "x-ms-documentdb-partitionkeyrangeid")
                .map(str::to_owned),
            items_loaded: touched.work.items_matched.max(read),
            items_returned: touched.items_returned.max(read),
            request_units: text(answer.headers(), "x-ms-request-charge")
                .and_then(|charge| charge.parse().ok())
                .unwrap_or(0.0),
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The count of all requests, and the requests themselves if they are kept.
#[derive(Debug)]
pub(super) struct RequestLog(Mutex<LogState>);

#[derive(Debug)]
struct LogState {
    count: usize,
    /// The number of requests before the first one of the list.
    taken: usize,
    list: Option<Vec<StoreRequest>>,
}

impl RequestLog {
    pub(super) fn new(keep_list: bool) -> Self {
        let list = keep_list.then(Vec::new);
        Self(Mutex::new(LogState { count: 0, taken: 0, list }))
    }

    /// Adds a request, and returns its place in the log.
    pub(super) fn add(&self, request: impl FnOnce() -> StoreRequest) -> usize {
        let mut state = lock(&self.0);
        let place = state.count;
        state.count += 1;
        if let Some(list) = &mut state.list {
            list.push(request());
        }
        place
    }

    /// Stores the answer to a request, unless the request was taken meanwhile.
    pub(super) fn answered(&self, place: usize, answer: impl FnOnce() -> StoreAnswer) {
        let mut state = lock(&self.0);
        let index = place.checked_sub(state.taken);
        let list = state.list.as_deref_mut().unwrap_or_default();
        if let Some(request) = index.and_then(|index| list.get_mut(index)) {
            request.answer = Some(answer());
        }
    }

    pub(super) fn count(&self) -> usize {
        lock(&self.0).count
    }

    /// Returns the requests after the first `n_before`; none if the list is not kept.
    pub(super) fn since(&self, n_before: usize) -> Vec<StoreRequest> {
        let state = lock(&self.0);
        let list = state.list.as_deref().unwrap_or_default();
        list.get(n_before.saturating_sub(state.taken)..).unwrap_or_default().to_vec()
    }

    pub(super) fn take(&self) -> Vec<StoreRequest> {
        let mut state = lock(&self.0);
        state.taken = state.count;
        state.list.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
