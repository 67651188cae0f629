//! Lease items, as the change feed processor of the .NET SDK stores them, and positions in the change feed: log
//! sequence numbers (LSN), and the tokens that contain them.
//!
//! The source of the leases is `DocumentServiceLeaseCore` of `azure-cosmos-dotnet-v3`, and a recording of version 3.64.

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The bytes of a container's `_rid` that are the `_rid` of its database.
const DATABASE_RID_BYTES: usize = 4;

/// A range of effective partition keys, in hexadecimal digits: `""` is the lowest key, `FF` lies behind the
/// highest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EpkRange {
    /// The lowest key.
    pub min: String,
    /// The key behind the highest.
    pub max: String,
}

/// The field of a lease with its range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRange {
    /// The range.
    #[serde(rename = "Range")]
    pub range: EpkRange,
}

/// A lease: the position of one function in one range of the change feed, and the owner.
///
/// Beside the leases of a function stand an item `<prefix>.info`, and `<prefix>.lock` while a host creates
/// the leases; `<prefix>` is that of [`lease_prefix`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeaseItem {
    /// `<prefix>..<token>`; the partition key, too.
    pub id: String,
    /// 0 for a lease of a physical partition, 1 for a part of one, which a merge leaves.
    #[serde(default)]
    pub version: u8,
    /// The id of the physical partition, such as `0`, or the bounds of the part of one, `<min>-<max>`.
    #[serde(rename = "LeaseToken")]
    pub token: String,
    /// The range; leases of old versions have none.
    #[serde(rename = "FeedRange", default, skip_serializing_if = "Option::is_none")]
    pub feed_range: Option<LeaseRange>,
    /// The owner; none after an orderly stop of the last owner.
    #[serde(rename = "Owner", default)]
    pub owner: Option<String>,
    /// The position behind the last batch that was acknowledged: the ETag of its page. None before the first.
    #[serde(rename = "ContinuationToken", default)]
    pub continuation: Option<String>,
    /// Values of the owner.
    #[serde(default)]
    pub properties: Map<String, Value>,
    /// The time of the owner's last write, which is a checkpoint or a renewal.
    #[serde(default)]
    pub timestamp: Option<String>,
    /// The mode of the change feed; leases of old versions have none.
    #[serde(rename = "Mode", default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

impl LeaseItem {
    /// The mode of a feed with the latest version of each item.
    pub const LATEST_VERSION: &str = "Incremental Feed";

    /// Returns the range of a lease that has one.
    pub fn range(&self) -> Option<&EpkRange> {
        self.feed_range.as_ref().map(|field| &field.range)
    }
}

/// Returns the beginning of the ids of the leases of a function, without the dots before their tokens: its
/// `leaseContainerPrefix`, then the host name of the account and the `_rid`s of the monitored container and
/// its database.
///
/// Returns `None` if `container_rid` is no `_rid` of a container.
///
/// ```
/// let prefix = cosmos_model::change_feed::lease_prefix("copies-", "shop.documents.azure.com", "AAAAAYAAAGI=");
/// assert_eq!(prefix.as_deref(), Some("copies-shop.documents.azure.com_AAAAAQ==_AAAAAYAAAGI="));
/// ```
pub fn lease_prefix(prefix: &str, host: &str, container_rid: &str) -> Option<String> {
    // The service writes `-` where base64 has `/`.
    let rid = BASE64_STANDARD.decode(container_rid.replace('-', "/")).ok()?;
    let database = BASE64_STANDARD.encode(rid.get(..DATABASE_RID_BYTES)?).replace('/', "-");
    Some(format!("{prefix}{host}_{database}_{container_rid}"))
}

/// Returns the LSN of a continuation of the change feed, which is a quoted number. A continuation of another
/// form has none.
pub fn lsn_of_continuation(continuation: &str) -> Option<u64> {
    continuation.trim().trim_matches('"').parse().ok()
}

/// Returns the LSN of a session token, `<partition>:<version>#<LSN>#…` or `<partition>:<LSN>`: the last write
/// that the replica had when it answered. Of the tokens of several partitions the first counts.
pub fn lsn_of_session(token: &str) -> Option<u64> {
    let first = token.split(',').next()?;
    let (_, numbers) = first.split_once(':')?;
    let mut numbers = numbers.split('#');
    let version = numbers.next();
    numbers.next().or(version)?.parse().ok()
}

/// Returns the continuation token with which `azure_data_cosmos` 1.0 reads a range of the change feed of a
/// container on from `continuation`, the ETag of a page.
///
/// The SDK has no call for that: its tokens are those that it has made itself. This is their form in version
/// 1.0.0 (`driver/dataflow/snapshot.rs`), and a test reads a feed with it.
pub fn sdk_continuation(container_rid: &str, range: &EpkRange, continuation: &str) -> String {
    let EpkRange { min, max } = range;
    let token = json!({ "min_epk": min, "max_epk": max, "server_continuation": continuation });
    let start = json!({ "kind": "beginning" });
    let root = json!({ "kind": "unordered_merge", "active_tokens": [token], "start_from": start });
    let state = json!({ "op": "ChangeFeed", "rid": container_rid, "root": root });
    format!("c1.{}", BASE64_URL_SAFE_NO_PAD.encode(state.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `azure-cosmos-dotnet-v3` 3.64 has written them.
    const CREATED: &str = r#"{"id":"pENDPOINT_AAAAAQ==_AAAAAYAAAGI=..0","version":0,"_etag":null,
        "LeaseToken":"0","FeedRange":{"Range":{"min":"","max":"05C1D0"}},"Owner":null,
        "ContinuationToken":null,"properties":{},"timestamp":null,"_ts":0,"Mode":"Incremental Feed"}"#;

    #[test]
    fn a_lease_is_read_as_the_processor_writes_it() {
        let lease: LeaseItem = serde_json::from_str(CREATED).unwrap();
        let range = EpkRange { min: String::new(), max: "05C1D0".into() };
        assert_eq!((lease.range(), lease.token.as_str()), (Some(&range), "0"));
        assert_eq!((&lease.owner, &lease.continuation, &lease.timestamp), (&None, &None, &None));
        let mut recorded: Value = serde_json::from_str(CREATED).unwrap();
        for system in ["_etag", "_ts"] {
            recorded.as_object_mut().unwrap().remove(system);
        }
        assert_eq!(serde_json::to_value(&lease).unwrap(), recorded);
    }

    #[test]
    fn the_items_beside_leases_are_no_leases() {
        for other in [r#"{"id":"p.info"}"#, r#"{"id":"p.lock","ttl":30}"#, "{}", "[]", "null", "7"]
        {
            assert!(serde_json::from_str::<LeaseItem>(other).is_err(), "{other}");
        }
    }

    #[test]
    fn only_the_rid_of_a_container_has_a_prefix() {
        assert_eq!(lease_prefix("p", "h", "-----w=="), Some("ph_-----w==_-----w==".into()));
        for bad in ["", "AA==", "rooms!", "AAAA"] {
            assert_eq!(lease_prefix("p", "h", bad), None, "{bad}");
        }
    }

    #[test]
    fn the_lsn_of_a_continuation_is_its_number_and_of_a_session_the_global_one() {
        let lsns = ["\"123\"", "123", " \"0\" "].map(lsn_of_continuation);
        assert_eq!(lsns, [Some(123), Some(123), Some(0)]);
        for other in ["", "\"\"", "*", "-1", "{\"kind\":\"cursor\"}", "99999999999999999999"] {
            assert_eq!(lsn_of_continuation(other), None, "{other}");
        }
        let lsns = ["0:0#3#0=3", "12:-1#45", "0:7", "1:0#5#0=5,2:0#9#0=9"].map(lsn_of_session);
        assert_eq!(lsns, [Some(3), Some(45), Some(7), Some(5)]);
        for other in ["", "0", "0:", "0:x#y", ":#"] {
            assert_eq!(lsn_of_session(other), None, "{other}");
        }
    }
}
