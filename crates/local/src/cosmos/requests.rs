//! The count of the data-plane requests: what an API request costs, in store requests.

use std::sync::{Mutex, PoisonError};

use super::operation::RequestKind;

/// A data-plane request that reached the store. Retries of an SDK are requests of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreRequest {
    /// The HTTP method.
    pub method: &'static str,
    /// What it did.
    pub kind: RequestKind,
    /// The database's name.
    pub database: String,
    /// The container's name.
    pub container: String,
    /// Whether it named a partition key, so that it touched one logical partition only.
    pub names_partition_key: bool,
    /// Whether it was sent with low priority.
    pub low_priority: bool,
}

/// Counts always; keeps the requests themselves only when asked to, since a list would grow for
/// as long as the endpoint runs.
#[derive(Debug)]
pub(super) struct RequestLog {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    count: usize,
    list: Option<Vec<StoreRequest>>,
}

impl RequestLog {
    pub(super) fn new(keep_list: bool) -> Self {
        let list = keep_list.then(Vec::new);
        Self { state: Mutex::new(State { count: 0, list }) }
    }

    pub(super) fn add(&self, request: impl FnOnce() -> StoreRequest) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += 1;
        if let Some(list) = &mut state.list {
            list.push(request());
        }
    }

    pub(super) fn count(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// The requests after the first `mark`; none when the list is not kept.
    pub(super) fn since(&self, mark: usize) -> Vec<StoreRequest> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let list = state.list.as_deref().unwrap_or_default();
        list.get(mark..).unwrap_or_default().to_vec()
    }
}
