//! The account, from which every SDK learns its addresses and the engine's limits.

use bytes::Bytes;
use http::{Request, uri::Authority};
use serde_json::{Value, json};

use super::{call, callers};

/// The regions of the account, of which the second one is for reading: SDKs name one to prefer it.
const REGIONS: [&str; 2] = ["East US", "West US"];

/// The limits of the service, as JSON: an SDK takes an empty object for a fault.
const QUERY_ENGINE: &str = r#"{"maxSqlQueryInputLength":262144,"maxJoinsPerSqlQuery":5,"maxLogicalAndPerSqlQuery":500,
    "maxLogicalOrPerSqlQuery":500,"maxUdfRefPerSqlQuery":10,"maxInExpressionItemsCount":16000,
    "queryMaxInMemorySortDocumentCount":500,"maxQueryRequestTimeoutFraction":0.9,"sqlAllowNonFiniteNumbers":false,
    "sqlAllowAggregateFunctions":true,"sqlAllowSubQuery":true,"sqlAllowScalarSubQuery":true,"allowNewKeywords":true,
    "sqlAllowLike":true,"sqlAllowGroupByClause":true,"maxSpatialQueryCells":12,"spatialMaxGeometryPointCount":256,
    "sqlDisableQueryILOptimization":false,"sqlDisableFilterPlanOptimization":false}"#;

/// Returns the account. Its locations have the address by which the caller came, so that a client behind a proxy or in
/// a container stays there; those of two regions have the host of it, and their ports.
pub(super) fn account(request: &Request<Bytes>, ports: Option<[u16; 2]>) -> Value {
    let authority =
        callers::authorities(request.uri(), request.headers()).next().unwrap_or("localhost");
    let scheme = call::header(request, "x-forwarded-proto").or(request.uri().scheme_str());
    let scheme = scheme.unwrap_or("http");
    let location = |region: &str, authority: &str| json!({"name": region, "databaseAccountEndpoint": format!("{scheme}://{authority}/")});
    let [first, second] = REGIONS;
    let readable = match ports {
        None => vec![location(first, authority)],
        Some([write, read]) => {
            let parsed = authority.parse::<Authority>();
            let host = parsed.as_ref().map_or(authority, Authority::host);
            let at = |region, port| location(region, &format!("{host}:{port}"));
            vec![at(first, write), at(second, read)]
        }
    };
    let host = authority.split(['.', ':']).next();
    json!({
        "_self": "",
        "id": host,
        "_rid": host,
        "media": "//media/",
        "addresses": "//addresses/",
        "_dbs": "//dbs/",
        "writableLocations": readable.get(..1),
        "readableLocations": readable,
        "enableMultipleWriteLocations": false,
        "continuousBackupEnabled": true,
        "enableNRegionSynchronousCommit": false,
        "enablePerPartitionFailoverBehavior": false,
        "userReplicationPolicy": {
            "asyncReplication": false,
            "minReplicaSetSize": 3,
            "maxReplicasetSize": 4,
        },
        "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
        "systemReplicationPolicy": {"minReplicaSetSize": 3, "maxReplicasetSize": 4},
        "readPolicy": {"primaryReadCoefficient": 1, "secondaryReadCoefficient": 1},
        "queryEngineConfiguration": QUERY_ENGINE,
    })
}
