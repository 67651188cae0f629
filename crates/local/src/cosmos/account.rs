//! The account itself: a backend, and the requests that this module sends to it on its own.

use std::sync::Arc;

use azure_core::http::{Method, Request, Url};
use azure_data_cosmos::CosmosError;

use super::backend::{Backend, Region, Response};

/// The one region that clients know.
pub(super) const REGION: &str = "East US";

/// Where the backend believes itself to be. Requests are addressed to it whatever socket they
/// came from, and the Rust SDK accepts plain HTTP for this host.
const BASE_URL: &str = "http://localhost:8081/";

/// An account, without what the store adds to it.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) base_url: Url,
}

impl Account {
    /// Returns the address of the account.
    pub(super) fn address() -> Result<Url, CosmosError> {
        Url::parse(BASE_URL)
            .map_err(|error| CosmosError::builder().with_message(error.to_string()).build())
    }

    /// Returns the region that clients know.
    pub(super) fn region(address: &Url) -> Region {
        Region { name: REGION.to_owned(), url: address.clone() }
    }

    /// Makes a request of this module's own, for the resource at `path` (names, not yet encoded).
    pub(super) fn request(&self, method: Method, path: &[&str]) -> Request {
        let mut url = self.base_url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        Request::new(url, method)
    }

    /// Asks the backend directly: nothing is counted or learned.
    pub(super) async fn send(&self, request: &Request) -> Result<Response, CosmosError> {
        self.backend.send(request).await
    }
}
