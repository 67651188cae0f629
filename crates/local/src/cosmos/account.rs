//! The account: a backend, and the requests that this module sends to it for itself.

use std::sync::Arc;

use azure_core::Bytes;
use azure_core::http::{Method, Request, Url};
use azure_data_cosmos::CosmosError;
use serde_json::{Value, json};

use super::emulator::{Emulator, Response};

/// Name of the one region that clients know.
pub(super) const REGION: &str = "East US";

/// Address that the backend takes for its own. All requests are addressed to it, from any socket. The
/// Rust SDK accepts plain HTTP for this host.
pub(super) const BASE_URL: &str = "http://127.0.0.1:8081/";

#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) backend: Arc<Emulator>,
    pub(super) base_url: Url,
}

impl Account {
    /// Creates a request of this module for the resource at `path` (names, not yet encoded).
    pub(super) fn request(&self, method: Method, path: &[&str]) -> Request {
        let mut url = self.base_url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        Request::new(url, method)
    }

    /// Sends a request to the backend directly. It is not counted, and nothing is learned from it.
    pub(super) async fn send(&self, request: &Request) -> Result<Response, CosmosError> {
        self.backend.send(request).await
    }
}

/// Returns the limits of queries as the service sends them: JSON in a text. The .NET SDK refuses to
/// query without them, and plans a query on the client by them if it can.
fn query_engine() -> Value {
    json!({
        "maxSqlQueryInputLength": 262_144,
        "maxJoinsPerSqlQuery": 5,
        "maxLogicalAndPerSqlQuery": 500,
        "maxLogicalOrPerSqlQuery": 500,
        "maxUdfRefPerSqlQuery": 10,
        "maxInExpressionItemsCount": 16_000,
        "queryMaxInMemorySortDocumentCount": 500,
        "maxQueryRequestTimeoutFraction": 0.9,
        "sqlAllowNonFiniteNumbers": false,
        "sqlAllowAggregateFunctions": true,
        "sqlAllowSubQuery": true,
        "sqlAllowScalarSubQuery": true,
        "allowNewKeywords": true,
        "sqlAllowLike": true,
        "sqlAllowGroupByClause": true,
        "maxSpatialQueryCells": 12,
        "spatialMaxGeometryPointCount": 256,
        "sqlDisableQueryILOptimization": false,
        "sqlDisableFilterPlanOptimization": false,
    })
}

/// Removes the regions that stand for replicas from the account of the emulator, and adds the
/// properties that the emulator leaves out.
pub(super) fn for_clients(mut response: Response) -> Response {
    let Ok(Value::Object(mut account)) = serde_json::from_slice(&response.body) else {
        return response;
    };
    for locations in ["writableLocations", "readableLocations"] {
        if let Some(Value::Array(locations)) = account.get_mut(locations) {
            locations.retain(|location| location["name"] == REGION);
        }
    }
    account.insert("queryEngineConfiguration".to_owned(), query_engine().to_string().into());
    response.body = Bytes::from(Value::Object(account).to_string());
    response
}
