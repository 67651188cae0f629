//! Positions in the change feed: log sequence numbers (LSN), and the tokens that contain them.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::json;

use crate::change_feed::EpkRange;

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

    #[test]
    fn the_lsn_of_a_continuation_is_its_number() {
        let lsns = ["\"123\"", "123", " \"0\" "].map(lsn_of_continuation);
        assert_eq!(lsns, [Some(123), Some(123), Some(0)]);
        for other in ["", "\"\"", "*", "-1", "{\"kind\":\"cursor\"}", "99999999999999999999"] {
            assert_eq!(lsn_of_continuation(other), None, "{other}");
        }
    }

    #[test]
    fn the_lsn_of_a_session_is_the_global_one() {
        let lsns = ["0:0#3#0=3", "12:-1#45", "0:7", "1:0#5#0=5,2:0#9#0=9"].map(lsn_of_session);
        assert_eq!(lsns, [Some(3), Some(45), Some(7), Some(5)]);
        for other in ["", "0", "0:", "0:x#y", ":#"] {
            assert_eq!(lsn_of_session(other), None, "{other}");
        }
    }
}
