//! Addresses by `_rid`: an SDK may name a database, a container or an item by the id that the store has
//! assigned. The .NET SDK reads the partition key ranges that way before every point read.

use azure_core::{
    base64,
    http::{Method, Request, Url, headers::HeaderName},
};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{account::Account, operation::PARTITION_KEY};

const IS_QUERY: HeaderName = HeaderName::from_static("x-ms-documentdb-isquery");
const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");

/// The lengths of the ids of databases, containers and items, in bytes.
const DATABASE_RID_BYTES: usize = 4;
const CONTAINER_RID_BYTES: usize = 8;
const ITEM_RID_BYTES: usize = 16;

/// Returns true if a segment of a path has the form of a `_rid`.
pub(super) fn is_rid(segment: &str) -> bool {
    [DATABASE_RID_BYTES, CONTAINER_RID_BYTES, ITEM_RID_BYTES]
        .iter()
        .any(|bytes| is_rid_of(segment, *bytes))
}

fn is_rid_of(segment: &str, bytes: usize) -> bool {
    // The service writes `-` where base64 has `/`, which would end a segment.
    segment.len() == bytes.div_ceil(3) * 4
        && base64::decode(segment.replace('-', "/")).is_ok_and(|decoded| decoded.len() == bytes)
}

/// Replaces the `_rid`s in the address of a request by names. A name of this form stays, and the
/// emulator answers 404 for an unknown `_rid`.
pub(super) async fn replace_by_names(account: &Account, request: &mut Request) {
    let Some(names) = names(account, request).await else {
        return;
    };
    if let Ok(mut segments) = request.url_mut().path_segments_mut() {
        segments.clear().extend(names);
    }
}

/// Returns the segments of the address with names; `None` if there is no `_rid` to replace.
async fn names(account: &Account, request: &Request) -> Option<Vec<String>> {
    let mut segments = decoded(request.url());
    let is_database = matches!(&segments[..], [dbs, database, ..] if dbs == "dbs" && is_rid_of(database, DATABASE_RID_BYTES));
    if !is_database {
        return None;
    }
    let named = account.send(&account.request(Method::Get, &["dbs", &segments[1]])).await.ok()?;
    if named.status == 200 {
        return None;
    }
    segments[1] = name(account, &["dbs"], "Databases", &segments[1]).await?;
    let names_container = segments.len() > 3 && segments[2] == "colls";
    if names_container && is_rid_of(&segments[3], CONTAINER_RID_BYTES) {
        let all = ["dbs", &segments[1], "colls"];
        segments[3] = name(account, &all, "DocumentCollections", &segments[3]).await?;
    }
    let names_item = segments.len() == 6 && segments[4] == "docs";
    if names_item && is_rid_of(&segments[5], ITEM_RID_BYTES) {
        segments[5] = item(account, &segments, request).await?;
    }
    Some(segments)
}

fn decoded(url: &Url) -> Vec<String> {
    let segments = url.path().split('/').filter(|segment| !segment.is_empty());
    segments.map(|one| percent_decode_str(one).decode_utf8_lossy().into_owned()).collect()
}

/// Finds the name of the database or container with this `_rid`.
async fn name(account: &Account, all: &[&str], list: &str, rid: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct NamedResource {
        id: String,
        #[serde(rename = "_rid")]
        rid: String,
    }
    let response = account.send(&account.request(Method::Get, all)).await.ok()?;
    let mut body: Value = serde_json::from_slice(&response.body).ok()?;
    let all: Vec<NamedResource> = serde_json::from_value(body.get_mut(list)?.take()).ok()?;
    all.into_iter().find(|one| one.rid == rid).map(|one| one.id)
}

/// Finds the id of the item with this `_rid` in the logical partition of the request.
async fn item(account: &Account, segments: &[String], request: &Request) -> Option<String> {
    let partition_key = request.headers().get_optional_string(&PARTITION_KEY)?;
    let items: Vec<&str> = segments[..5].iter().map(String::as_str).collect();
    let mut query = account.request(Method::Post, &items);
    query.insert_header(IS_QUERY, "True");
    query.insert_header(CONTENT_TYPE, "application/query+json");
    query.insert_header(PARTITION_KEY, partition_key);
    let rid = json!([{"name": "@rid", "value": segments[5]}]);
    let body = json!({"query": "SELECT VALUE c.id FROM c WHERE c._rid = @rid", "parameters": rid});
    query.set_body(body.to_string());
    let response = account.send(&query).await.ok()?;
    let body: Value = serde_json::from_slice(&response.body).ok()?;
    body["Documents"].get(0)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::is_rid;

    #[test]
    fn only_an_id_of_the_stores_form_is_a_rid() {
        for rid in ["AAAAAg==", "qr0OAA==", "AAAAEIAAAAE=", "AAAAAYAAADQWAAAAAAAAAA==", "-r0OAA=="]
        {
            assert!(is_rid(rid), "{rid}");
        }
        for name in ["", "blog", "posts", "AAAA", "AAAAAg", "tributary=", "dead-letters"] {
            assert!(!is_rid(name), "{name}");
        }
    }
}
