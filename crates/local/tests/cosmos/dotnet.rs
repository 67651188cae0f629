//! The needs of the .NET SDK and of the Functions trigger, as raw requests: there is no .NET here.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use tributary_local::cosmos::RunningServer;

use crate::raw::{Answer, IS_QUERY, KEY, get, post, send, send_by_rid, serve};
use crate::world::options;

/// The SDK's requests to servers that it worked with, and their answers.
const RECORDED: &str = include_str!("../recorded/dotnet.json");

const FEED: (&str, &str) = ("a-im", "Incremental Feed");
const RANGE: &str = "x-ms-documentdb-partitionkeyrangeid";
const LIMIT: &str = "x-ms-max-item-count";

#[derive(Deserialize)]
struct Exchange {
    name: String,
    method: String,
    path: String,
    headers: HashMap<String, String>,
    body: Option<String>,
    answer: Recorded,
}

#[derive(Deserialize)]
struct Recorded {
    status: u16,
    headers: HashMap<String, String>,
    body: Option<String>,
}

/// Starts a server with the databases and containers of the recording.
async fn server() -> RunningServer {
    let server = serve(options()).await;
    for (database, containers) in
        [("d", vec![("q", "/pk")]), ("db1", vec![("c1", "/pk"), ("lea", "/id")])]
    {
        post(&server, "/dbs", &[], &json!({"id": database})).await.expect(201);
        for (container, key) in containers {
            let key = json!({"paths": [key], "kind": "Hash", "version": 2});
            let container = json!({"id": container, "partitionKey": key, "defaultTtl": -1});
            post(&server, &format!("/dbs/{database}/colls"), &[], &container).await.expect(201);
        }
    }
    server
}

async fn create(server: &RunningServer, id: &str, pad: usize) -> Answer {
    let item = json!({"id": id, "pk": "p", "n": 1, "pad": "x".repeat(pad)});
    post(server, "/dbs/d/colls/q/docs", &[(KEY, r#"["p"]"#)], &item).await.expect(201)
}

/// Reads a page of the change feed of the only physical partition.
async fn feed(server: &RunningServer, headers: &[(&str, &str)]) -> Answer {
    let headers = [&[FEED, (RANGE, "0")], headers].concat();
    send(server, "GET", "/dbs/d/colls/q/docs", &headers, b"").await
}

async fn rid(server: &RunningServer, path: &str) -> String {
    let answer = get(server, path).await.expect(200);
    answer.body["_rid"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_recorded_requests_of_the_sdk_get_the_recorded_answers() {
    let server = server().await;
    for id in ["a", "b"] {
        create(&server, id, 0).await;
    }
    let rids = [
        ("qr0OAA==", rid(&server, "/dbs/d").await),
        ("qr0OAKAAADQ=", rid(&server, "/dbs/d/colls/q").await),
    ];
    let lease = json!({"id": "pENDPOINT_AAAAAQ==_AAAAAYAAAGI=..3", "Owner": null});
    let key = (KEY, r#"["pENDPOINT_AAAAAQ==_AAAAAYAAAGI=..3"]"#);
    post(&server, "/dbs/db1/colls/lea/docs", &[key], &lease).await.expect(201);
    for n in 0..12 {
        let item = json!({"id": format!("i{n}"), "pk": "p1", "n": n});
        post(&server, "/dbs/db1/colls/c1/docs", &[(KEY, r#"["p1"]"#)], &item).await.expect(201);
    }

    // The values that the SDK copies from the recorded answer, and those of the answer here.
    let mut taken: HashMap<(&str, String), String> = HashMap::new();
    for one in serde_json::from_str::<Vec<Exchange>>(RECORDED).unwrap() {
        let Exchange { name, method, mut path, mut headers, body, answer: recorded } = one;
        let is_by_rid = path.contains("==");
        for (theirs, ours) in &rids {
            path = path.replace(theirs, ours);
        }
        // A key of another physical partition there is in the only one here.
        headers.entry(RANGE.to_owned()).and_modify(|range| "0".clone_into(range));
        let container = path.split('/').take(5).collect::<Vec<_>>().join("/");
        for header in ["x-ms-session-token", "x-ms-continuation"] {
            let ours = taken.get(&(header, container.clone()));
            if headers.remove(header).is_some()
                && let Some(ours) = ours
            {
                headers.insert(header.to_owned(), ours.clone());
            }
        }
        for header in ["if-match", "if-none-match"] {
            let given = headers.get(header).is_some_and(|etag| etag != "*");
            if given && !name.ends_with("-stale") {
                let item =
                    body.as_deref().and_then(|body| serde_json::from_str::<Value>(body).ok());
                let id = item.and_then(|item| item["id"].as_str().map(str::to_owned));
                let etag = taken.get(&("etag", id.unwrap_or_else(|| path.clone())));
                let etag = match etag {
                    Some(etag) => etag.clone(),
                    None => etag_of(&server, &path, &headers).await,
                };
                headers.insert(header.to_owned(), etag);
            }
        }
        if name == "change-feed-nothing-new" {
            headers.insert("if-none-match".to_owned(), taken[&("etag", path.clone())].clone());
        }
        headers.remove("x-ms-cosmos-supported-serialization-formats");

        let given: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let sent = body.unwrap_or_default();
        let answer = if is_by_rid && path.ends_with("/pkranges") {
            send_by_rid(&server, &method, &path, &given).await
        } else {
            send(&server, &method, &path, &given, sent.as_bytes()).await
        };

        same(&name, &answer, &recorded);
        for header in ["x-ms-session-token", "x-ms-continuation"] {
            if let Some(value) = answer.header(header) {
                taken.insert((header, container.clone()), value.to_owned());
            }
        }
        if let Some(etag) = answer.header("etag") {
            taken.insert(("etag", path.clone()), etag.to_owned());
        }
    }
}

/// Returns the present ETag of an item.
async fn etag_of(server: &RunningServer, path: &str, headers: &HashMap<String, String>) -> String {
    let answer = send(server, "GET", path, &[(KEY, &headers[KEY])], b"").await.expect(200);
    answer.header("etag").unwrap().to_owned()
}

/// Checks that an answer matches the recorded one: the status, the form of headers that the SDK reads,
/// and the properties of the body.
#[track_caller]
fn same(name: &str, answer: &Answer, recorded: &Recorded) {
    assert_eq!(answer.status, recorded.status, "{name}: {answer:?}");
    let is_number = |etag: &str| etag.trim_matches('"').parse::<u64>().is_ok();
    for (header, value) in &recorded.headers {
        let ours = answer.header(header);
        match &**header {
            "etag" if is_number(value) && name.starts_with("change-feed") => {
                assert!(ours.is_some_and(is_number), "{name}: {ours:?}");
            }
            "x-ms-item-count" if recorded.status == 304 => assert_eq!(ours, Some("0"), "{name}"),
            "etag" | "x-ms-item-count" | "x-ms-request-charge" => {
                assert!(ours.is_some(), "{name}: no {header}");
            }
            _ => {}
        }
    }
    let Some(body) = &recorded.body else {
        assert_eq!(answer.bytes, 0, "{name}");
        return;
    };
    let theirs: Value = serde_json::from_str(body).unwrap();
    has(name, &answer.body, &theirs);
}

/// Checks that a value has the properties of another, and items if the other has some.
#[track_caller]
fn has(name: &str, ours: &Value, theirs: &Value) {
    for (key, value) in theirs.as_object().into_iter().flatten() {
        let ours = ours.get(key);
        assert!(ours.is_some(), "{name}: no {key}");
        if let Some(first) =
            value.as_array().and_then(|list| list.first()).filter(|first| first.is_object())
        {
            has(name, &ours.unwrap()[0], first);
        }
    }
}

#[tokio::test]
async fn every_resource_is_found_by_its_rid_with_the_signature_over_it() {
    let server = server().await;
    let item = create(&server, "a", 0).await;
    let database = rid(&server, "/dbs/d").await;
    let container = rid(&server, "/dbs/d/colls/q").await;
    let item = item.body["_rid"].as_str().unwrap();
    let container = format!("/dbs/{database}/colls/{container}");
    for (path, found) in [
        (format!("/dbs/{database}"), "id"),
        (container.clone(), "partitionKey"),
        (format!("{container}/pkranges"), "PartitionKeyRanges"),
        (format!("{container}/docs"), "Documents"),
        (format!("{container}/docs/{item}"), "pk"),
    ] {
        let by_rid = send_by_rid(&server, "GET", &path, &[(KEY, r#"["p"]"#)]).await;
        assert!(by_rid.expect(200).body.get(found).is_some(), "{path}");
        let by_link = send(&server, "GET", &path, &[(KEY, r#"["p"]"#)], b"").await;
        assert!(by_link.expect(200).body.get(found).is_some(), "{path}");
    }
    get(&server, "/dbs/AAAA-w==/colls").await.expect(404);
}

#[tokio::test]
async fn answers_name_their_container_so_that_session_tokens_are_kept() {
    let server = server().await;
    let key = json!({"paths": ["/pk"], "kind": "Hash", "version": 2});
    let made = post(&server, "/dbs/d/colls", &[], &json!({"id": "n", "partitionKey": key})).await;
    let created = create(&server, "a", 0).await;
    let read = feed(&server, &[]).await;
    for (answer, container) in [(made, "n"), (created, "q"), (read, "q")] {
        let path = format!("dbs/d/colls/{container}");
        assert_eq!(answer.header("x-ms-alt-content-path"), Some(&*path));
        let rid = rid(&server, &format!("/{path}")).await;
        assert_eq!(answer.header("x-ms-content-path"), Some(&*rid));
    }
}

#[tokio::test]
async fn items_of_the_change_feed_have_an_lsn_and_a_page_ends_between_transactions() {
    let server = server().await;
    create(&server, "a", 0).await;
    let batch: Vec<_> = ["b", "c", "d"]
        .into_iter()
        .map(|id| json!({"operationType": "Create", "resourceBody": {"id": id, "pk": "p", "_lsn": "x"}}))
        .collect();
    let headers = [
        (KEY, r#"["p"]"#),
        ("x-ms-cosmos-is-batch-request", "True"),
        ("x-ms-cosmos-batch-atomic", "True"),
    ];
    post(&server, "/dbs/d/colls/q/docs", &headers, &Value::from(batch)).await.expect(200);
    create(&server, "e", 0).await;

    let first = feed(&server, &[(LIMIT, "2")]).await.expect(200);
    assert_eq!(first.ids(), ["a", "b", "c", "d"]);
    let lsns: Vec<_> = first.items().iter().map(|item| item["_lsn"].as_u64().unwrap()).collect();
    assert!(lsns[0] < lsns[1] && lsns[1..].iter().all(|lsn| *lsn == lsns[1]), "{lsns:?}");
    let etag = first.header("etag").unwrap();
    assert_eq!(etag, format!("\"{}\"", lsns[3]));
    let second = feed(&server, &[(LIMIT, "2"), ("if-none-match", etag)]).await.expect(200);
    assert_eq!(second.ids(), ["e"]);
    let etag = second.header("etag").unwrap();
    let third = feed(&server, &[("if-none-match", etag)]).await.expect(304);
    assert_eq!((third.header("etag"), third.header("x-ms-item-count")), (Some(etag), Some("0")));
}

#[tokio::test]
async fn a_feed_from_now_or_from_a_time_has_no_older_change() {
    let server = server().await;
    create(&server, "old", 0).await;
    let now = feed(&server, &[("if-none-match", "*")]).await.expect(304);
    let later = ("if-modified-since", "Fri, 02 Jan 2099 03:04:05 GMT");
    let later = feed(&server, &[later]).await.expect(304);
    let earlier = feed(&server, &[("if-modified-since", "Fri, 02 Jan 2026 03:04:05 GMT")]).await;
    assert_eq!(earlier.expect(200).ids(), ["old"]);

    create(&server, "new", 0).await;
    for begun in [now, later] {
        let etag = begun.header("etag").unwrap();
        let next = feed(&server, &[("if-none-match", etag)]).await.expect(200);
        assert_eq!(next.ids(), ["new"]);
    }
}

#[tokio::test]
async fn pages_end_at_4_mb_with_a_continuation() {
    const MB: usize = 1024 * 1024;
    let server = server().await;
    for id in ["a", "b", "c", "d", "e", "f"] {
        create(&server, id, MB).await;
    }
    let path = "/dbs/d/colls/q/docs";
    let query = json!({"query": "SELECT * FROM c"}).to_string();
    let of_key = [&IS_QUERY[..], &[(KEY, r#"["p"]"#)]].concat();
    let of_range = [&IS_QUERY[..], &[(RANGE, "0"), (LIMIT, "10")]].concat();
    let continuation = ["x-ms-continuation"; 2];
    for (kind, method, headers, body, [answered, next]) in [
        ("feed", "GET", vec![FEED, (RANGE, "0")], "", ["etag", "if-none-match"]),
        ("all items", "GET", vec![(RANGE, "0")], "", continuation),
        ("query", "POST", of_key, &*query, continuation),
        ("ranges", "POST", of_range, &*query, continuation),
    ] {
        let first = send(&server, method, path, &headers, body.as_bytes()).await.expect(200);
        assert_eq!(first.ids(), ["a", "b", "c"], "{kind}");
        assert_eq!(first.header("x-ms-item-count"), Some("3"), "{kind}");
        let headers = [&headers[..], &[(next, first.header(answered).unwrap())]].concat();
        let second = send(&server, method, path, &headers, body.as_bytes()).await.expect(200);
        assert_eq!(second.ids(), ["d", "e", "f"], "{kind}");
        assert!(first.bytes.max(second.bytes) < 4 * MB, "{kind}");
    }
}
