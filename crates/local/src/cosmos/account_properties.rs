//! The account's properties, as clients see them.

use azure_core::Bytes;
use serde_json::{Value, json};

use super::{account::REGION, backend::Response};

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
