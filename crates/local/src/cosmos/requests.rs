//! The log of the data-plane requests, which counts the store requests of an API request.

use std::sync::Mutex;

use azure_core::http::Request;
use azure_core::http::headers::HeaderName;
use serde_json::Value;

use super::emulator::Response;
use super::operation::{
    ContainerPath, PARTITION_KEY, PRIORITY_LEVEL, RequestKind, body_of, names_partition_key, parse,
};
use super::slices::RANGE_ID;
use crate::lock;

const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// A data-plane request that reached the store. Retries of an SDK are requests of their own.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoreRequest {
    /// The HTTP method.
    pub method: &'static str,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The database's name.
    pub database: String,
    /// The container's name.
    pub container: String,
    /// True if it named a partition key, and so touched one logical partition only.
    pub names_partition_key: bool,
    /// The partition key, as JSON.
    pub partition_key: Option<String>,
    /// True if it was sent with low priority.
    pub low_priority: bool,
    /// The size of its body.
    pub bytes: usize,
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
    /// Items that a read, a query or a feed has loaded, with those that it did not return; `None` if
    /// the endpoint charges as the emulator does, and so does not count them.
    pub items_loaded: Option<u32>,
    /// Items in the answer.
    pub items_returned: u32,
    /// The size of its body.
    pub bytes: usize,
    /// The charge.
    pub request_units: f64,
}

impl StoreRequest {
    pub(super) fn new(kind: RequestKind, container: &ContainerPath, request: &Request) -> Self {
        let header = |name: HeaderName| request.headers().get_optional_string(&name);
        let names_partition_key = names_partition_key(request);
        Self {
            method: request.method().as_str(),
            kind,
            database: container.database.clone(),
            container: container.container.clone(),
            names_partition_key,
            partition_key: header(PARTITION_KEY).filter(|_| names_partition_key),
            low_priority: header(PRIORITY_LEVEL).is_some_and(|it| it.eq_ignore_ascii_case("low")),
            bytes: body_of(request).len(),
            query: parse::<Value>(request)
                .and_then(|body| Some(body["query"].as_str()?.to_owned())),
            answer: None,
        }
    }
}

impl StoreAnswer {
    pub(super) fn new(kind: RequestKind, response: &Response) -> Self {
        let items_returned = match kind {
            RequestKind::Read => u32::from(response.status == 200),
            _ => response.n_items(),
        };
        Self {
            status: response.status,
            physical_partition: response.header(&RANGE_ID).map(str::to_owned),
            items_loaded: response.items_loaded,
            items_returned,
            bytes: response.body.len(),
            request_units: response
                .header(&REQUEST_CHARGE)
                .and_then(|charge| charge.parse().ok())
                .unwrap_or(0.0),
        }
    }
}

/// The count of all requests, and the requests themselves if they are kept: the list grows for as long
/// as the endpoint runs.
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
