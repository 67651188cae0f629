//! The REST API as SDKs use it, without a socket.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;

use bytes::Bytes;
use cosmos_store::{
    engine::Engine,
    http::{Operation, Options, Service, WELL_KNOWN_KEY, authorization},
};
use http::{Request, Response};
use proptest::prelude::*;
use serde_json::{Value, json};

const KEY: &str = "x-ms-documentdb-partitionkey";

/// A client of a store in memory.
struct Client {
    service: Service,
}

struct Answered {
    status: u16,
    response: Response<Bytes>,
    json: Value,
}

impl Answered {
    fn header(&self, name: &str) -> &str {
        self.response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn message(&self) -> &str {
        self.json["message"].as_str().unwrap()
    }

    fn ids(&self) -> Vec<&str> {
        let documents = self.json["Documents"].as_array().unwrap();
        documents.iter().map(|item| item["id"].as_str().unwrap()).collect()
    }
}

impl Client {
    async fn new(partitions: u32) -> Self {
        let options = Options { key: None, partitions, ..Options::default() };
        let client = Self { service: Service::new(Engine::open(None).unwrap(), options) };
        client.post("/dbs", &[], json!({"id": "d"})).await;
        client.container(json!({"id": "c", "partitionKey": {"paths": ["/pk"]}})).await;
        client
    }

    async fn container(&self, definition: Value) {
        assert_eq!(self.post("/dbs/d/colls", &[], definition).await.status, 201);
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answered {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.service.answer_signed(request.body(body.into()).unwrap()).await;
        let json = serde_json::from_slice(response.body()).unwrap_or_default();
        Answered { status: response.status().as_u16(), response, json }
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answered {
        self.send("GET", path, headers, Bytes::new()).await
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: Value) -> Answered {
        self.send("POST", path, headers, body.to_string()).await
    }

    async fn create(&self, item: Value) -> Answered {
        let key = json!([item["pk"]]).to_string();
        let created = self.post("/dbs/d/colls/c/docs", &[(KEY, &key)], item).await;
        assert_eq!(created.status, 201, "{}", created.json);
        created
    }

    async fn query(&self, text: &str, headers: &[(&str, &str)]) -> Answered {
        let mut headers = headers.to_vec();
        headers.push(("x-ms-documentdb-isquery", "True"));
        self.post("/dbs/d/colls/c/docs", &headers, json!({"query": text})).await
    }
}

#[tokio::test]
async fn an_item_is_charged_for_and_patched_on_a_condition() {
    let client = Client::new(1).await;
    let item = "/dbs/d/colls/c/docs/1";
    let created = client.create(json!({"id": "1", "pk": "a", "n": 2})).await;
    assert_eq!(created.header("x-ms-alt-content-path"), "dbs/d/colls/c");
    let charge: f64 = created.header("x-ms-request-charge").parse().unwrap();
    assert!((5.0..9.0).contains(&charge), "{charge}");
    assert_eq!(client.get(item, &[]).await.status, 400);
    for (condition, status) in [("from c where c.n = 4", 412), ("from c where c.n = 2", 200)] {
        let operations = json!([{"op": "incr", "path": "/n", "value": 5}]);
        let patch = json!({"operations": operations, "condition": condition}).to_string();
        let patched = client.send("PATCH", item, &[(KEY, r#"["a"]"#)], patch).await;
        assert_eq!(patched.status, status, "{}", patched.json);
    }
}

#[tokio::test]
async fn headers_with_letters_beyond_ascii_are_read() {
    let client = Client::new(1).await;
    let item = "/dbs/d/colls/c/docs/1";
    client.create(json!({"id": "1", "pk": "ä"})).await;
    let key = (KEY, r#"["ä"]"#);
    assert_eq!(client.get(item, &[key]).await.status, 200);
    assert_eq!(client.send("DELETE", item, &[key, ("if-match", "ä")], "").await.status, 412);
}

#[tokio::test]
async fn addresses_by_rid_and_ids_with_any_characters_are_understood() {
    let client = Client::new(1).await;
    let rid = |answered: &Answered| answered.json["_rid"].as_str().unwrap().to_owned();
    let database = rid(&client.get("/dbs/d", &[]).await);
    let container = rid(&client.get("/dbs/d/colls/c/", &[]).await);
    let path = format!("/dbs/{database}/colls/{container}");
    for (id, encoded) in [("ä ✓", "%C3%A4%20%E2%9C%93"), ("a+b%25&c=", "a+b%2525&c=")] {
        let created = client.create(json!({"id": id, "pk": "a"})).await;
        let key = [(KEY, r#"["a"]"#)];
        assert_eq!(client.get(&format!("{path}/docs/{encoded}"), &key).await.json["id"], id);
        let by_rid = format!("{path}/docs/{}", rid(&created));
        assert_eq!(client.get(&by_rid, &key).await.json["id"], id);
        assert_eq!(client.send("DELETE", &by_rid, &key, "").await.status, 204);
    }
}

#[tokio::test]
async fn the_change_feed_of_all_partitions_has_each_item_once_and_those_written_meanwhile() {
    let client = Client::new(3).await;
    let mut wanted: BTreeSet<String> = (0..40).map(|n| format!("i{n}")).collect();
    for (n, id) in wanted.iter().enumerate() {
        client.create(json!({"id": id, "pk": n % 7})).await;
    }
    let docs = "/dbs/d/colls/c/docs";
    for token in ["", "x", "AAAAAAAA"] {
        let page = client.get(docs, &[("x-ms-continuation", token)]).await;
        assert_eq!((page.status, page.message()), (400, "Invalid Continuation Token"));
    }

    let mut found = BTreeSet::new();
    let mut etag = String::new();
    for round in 0..30 {
        let headers = [
            ("a-im", "Incremental Feed"),
            ("x-ms-max-item-count", "4"),
            ("if-none-match", etag.as_str()),
        ];
        let page = client.get(docs, if etag.is_empty() { &headers[..2] } else { &headers }).await;
        etag = page.header("etag").to_owned();
        if page.status == 304 {
            break;
        }
        assert!(page.json["Documents"][0]["_lsn"].as_u64() > Some(0));
        found.extend(page.ids().into_iter().map(str::to_owned));
        if round == 2 {
            client.create(json!({"id": "late", "pk": 1})).await;
            wanted.insert("late".to_owned());
        }
    }
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn the_change_feed_of_a_partition_begins_where_it_is_asked_to() {
    let client = Client::new(1).await;
    client.create(json!({"id": "1", "pk": "a"})).await;
    client.create(json!({"id": "2", "pk": "b"})).await;
    let docs = "/dbs/d/colls/c/docs";
    let feed = ("a-im", "Incremental feed");
    let all = client.get(docs, &[feed, ("x-ms-documentdb-partitionkeyrangeid", "0")]).await;
    assert_eq!(all.ids(), ["1", "2"]);
    assert_eq!(all.header("etag"), "\"2\"");
    assert_eq!(client.get(docs, &[feed, (KEY, r#"["b"]"#)]).await.ids(), ["2"]);
    let since = |time| [feed, ("if-modified-since", time)];
    let future = client.get(docs, &since("Fri, 01 Jan 2999 00:00:00 GMT")).await;
    assert_eq!((future.status, future.header("x-ms-item-count")), (304, "0"));
    let past = client.get(docs, &since("Fri, 02 Jan 2026 03:04:05 GMT")).await;
    assert_eq!(past.ids(), ["1", "2"]);
    let now = client.get(docs, &[feed, ("if-none-match", "*")]).await;
    assert_eq!(now.status, 304);
    client.create(json!({"id": "3", "pk": "a"})).await;
    let form = ("x-ms-cosmos-changefeed-wire-format-version", "2021-09-15");
    let next = client.get(docs, &[feed, form, ("if-none-match", now.header("etag"))]).await;
    let change = &next.json["Documents"][0];
    assert_eq!((&change["current"]["id"], &change["metadata"]["lsn"]), (&json!("3"), &json!(3)));
    assert_eq!(change["metadata"]["crts"], change["current"]["_ts"]);
    let half = [feed, ("x-ms-start-epk", "FF"), ("x-ms-end-epk", "FF")];
    assert_eq!(client.get(docs, &half).await.status, 304);
    let gone = client.get(docs, &[feed, ("x-ms-documentdb-partitionkeyrangeid", "7")]).await;
    assert_eq!((gone.status, gone.header("x-ms-substatus")), (410, "1002"));
}

#[tokio::test]
async fn pages_end_at_4_mb_and_larger_bodies_are_refused() {
    let client = Client::new(1).await;
    for n in 0..5 {
        let text = "x".repeat(1_300_000);
        client.create(json!({"id": n.to_string(), "pk": "a", "text": text})).await;
    }
    let docs = "/dbs/d/colls/c/docs";
    let feed = ("a-im", "Incremental feed");
    for headers in [&[feed][..], &[]] {
        let first = client.get(docs, headers).await;
        assert_eq!(first.ids(), ["0", "1", "2"]);
        let next = ("x-ms-continuation", first.header("x-ms-continuation"));
        assert_eq!(client.get(docs, &[headers, &[next]].concat()).await.ids(), ["3", "4"]);
    }
    let large = json!({"id": "l", "pk": "a", "text": "x".repeat(2_100_000)});
    assert_eq!(client.post(docs, &[(KEY, r#"["a"]"#)], large).await.status, 413);
    assert_eq!(client.send("PROPFIND", "/", &[], "").await.status, 405);
}

#[tokio::test]
async fn a_bulk_request_carries_out_what_is_in_its_range() {
    let client = Client::new(2).await;
    let create = |n: usize| {
        let body = json!({"id": format!("b{n}"), "pk": n});
        json!({"operationType": "Create", "partitionKey": format!("[{n}]"), "resourceBody": body})
    };
    let operations: Vec<Value> = (0..8).map(create).collect();
    let mut sums = [0; 8];
    for id in ["0", "1"] {
        let bulk = [
            ("x-ms-cosmos-is-batch-request", "True"),
            ("x-ms-cosmos-batch-atomic", "False"),
            ("x-ms-cosmos-batch-continue-on-error", "True"),
            ("x-ms-documentdb-partitionkeyrangeid", id),
        ];
        let done = client.post("/dbs/d/colls/c/docs", &bulk, json!(operations)).await;
        for (sum, one) in sums.iter_mut().zip(done.json.as_array().unwrap()) {
            *sum += one["statusCode"].as_u64().unwrap();
        }
    }
    // Each operation is within one of the two ranges, and gone from the other.
    assert_eq!(sums, [201 + 410; 8]);
}

#[tokio::test]
async fn a_query_of_several_partitions_says_so_and_has_its_metrics() {
    let client = Client::new(2).await;
    for n in 0..20 {
        client.create(json!({"id": format!("{n}"), "pk": n, "n": n})).await;
    }
    let refused = client.query("SELECT * FROM c", &[]).await;
    assert_eq!(refused.status, 400, "{}", refused.json);
    let one = client.query("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 3", &[]).await;
    assert_eq!(one.json["Documents"], json!([1]), "{}", one.json);
    let all = ("x-ms-documentdb-query-enablecrosspartition", "True");
    let metrics = ("x-ms-documentdb-populatequerymetrics", "True");
    let listed = client.query("SELECT COUNT(1) FROM c WHERE c.pk = 3", &[all]).await;
    assert_eq!((listed.status, listed.header("x-ms-substatus")), (400, "1004"));
    // A page is of one physical partition, also when partitions are split between pages.
    let container =
        client.service.operation(&Request::get("/dbs/d/colls/c/docs").body(Bytes::new()).unwrap());
    let Operation::Items(container) = container else { panic!("{container:?}") };
    let mut found = BTreeSet::new();
    let mut token = String::new();
    for round in 0.. {
        let continuation = ("x-ms-continuation", token.as_str());
        let headers = [all, metrics, ("x-ms-max-item-count", "1"), continuation];
        let headers = if round == 0 { &headers[..3] } else { &headers };
        let page = client.query("SELECT VALUE c.n FROM c WHERE c.n > 0", headers).await;
        assert_eq!(page.status, 200, "{}", page.json);
        let metrics = page.header("x-ms-documentdb-query-metrics");
        assert!(metrics.contains("outputDocumentCount=1;"), "{metrics}");
        for n in page.json["Documents"].as_array().unwrap() {
            assert!(found.insert(n.as_u64().unwrap()), "{n} is there twice");
        }
        token = page.header("x-ms-continuation").to_owned();
        if token.is_empty() {
            break;
        }
        if round < 2 {
            client.service.engine().split(container.container, round).await.unwrap();
        }
    }
    assert_eq!(found, (1..20).collect());
    // A token for a part that is no part of this container.
    for token in ["", "x", "-|", "05-03|", "-FF|x", "-FFFF|", "00"] {
        let page = client.query("SELECT * FROM c", &[all, ("x-ms-continuation", token)]).await;
        assert_eq!((page.status, page.message()), (400, "Invalid Continuation Token"));
    }
    let merged = client.query("SELECT VALUE c.n FROM c ORDER BY c.n", &[all]).await;
    assert_eq!((merged.status, merged.header("x-ms-substatus")), (400, "1004"));
}

#[tokio::test]
async fn only_signed_requests_of_this_machine_are_answered() {
    let service = Service::new(Engine::open(None).unwrap(), Options::default());
    let date = "Thu, 27 Apr 2017 00:51:12 GMT";
    let request = |host: &str, token: &str| {
        let request = Request::get("/dbs").header("host", host).header("x-ms-date", date);
        request.header("authorization", token).body(Bytes::new()).unwrap()
    };
    let token = authorization("GET", "/dbs", date, WELL_KNOWN_KEY);
    for (host, token, status) in [
        ("127.0.0.1:8081", token.as_str(), 200),
        ("[::1]:8081", token.as_str(), 200),
        ("rebound.example", token.as_str(), 403),
        ("localhost", &authorization("POST", "/dbs", date, WELL_KNOWN_KEY), 401),
        ("localhost", "type=aad&ver=1.0&sig=x", 401),
        ("localhost", "", 401),
    ] {
        let response = service.answer_signed(request(host, token)).await;
        assert_eq!(response.status(), status, "{host} {token}");
    }
    let account = Request::get("/").header("host", "127.0.0.1:9").header("x-ms-date", date);
    let account = account.header("authorization", authorization("GET", "/", date, WELL_KNOWN_KEY));
    let account = service.answer_signed(account.body(Bytes::new()).unwrap()).await;
    let account: Value = serde_json::from_slice(account.body()).unwrap();
    let address = &account["writableLocations"][0]["databaseAccountEndpoint"];
    assert_eq!(address, "http://127.0.0.1:9/");
    assert_ne!(account["queryEngineConfiguration"], "{}");
}

/// The example of <https://learn.microsoft.com/rest/api/cosmos-db/access-control-on-cosmosdb-resources>.
#[test]
fn the_signature_is_that_of_the_documentation() {
    let key =
        "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw==";
    let token = authorization("GET", "/dbs/ToDoList", "Thu, 27 Apr 2017 00:51:12 GMT", key);
    assert!(token.ends_with("sig%3Dc09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu%2Bc%2Bc%3D"), "{token}");
}

fn any_request() -> impl Strategy<Value = Request<Bytes>> {
    let segments = "dbs d colls c docs 1 pkranges offers conflicts sprocs operations partitionkeydelete % %2F AAAAAQ== ? \
                    users addresses";
    let segment = prop_oneof![
        prop::sample::select(segments.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned),
        "[a-z%0-9=?]{0,8}",
    ];
    let path = prop_oneof![
        3 => Just("/dbs/d/colls/c/docs".to_owned()),
        2 => Just("/dbs/d/colls/c/docs/1".to_owned()),
        1 => prop::collection::vec(segment, 0..8).prop_map(|all| format!("/{}", all.join("/"))),
    ];
    let names = "x-ms-documentdb-partitionkey if-match if-none-match if-modified-since a-im x-ms-continuation \
                 x-ms-max-item-count x-ms-documentdb-isquery x-ms-documentdb-is-upsert x-ms-cosmos-is-batch-request \
                 x-ms-session-token x-ms-cosmos-batch-atomic x-ms-documentdb-partitionkeyrangeid x-ms-start-epk \
                 x-ms-end-epk x-ms-cosmos-is-query-plan-request x-ms-offer-throughput \
                 x-ms-cosmos-offer-autopilot-settings x-ms-documentdb-query-enablecrosspartition \
                 x-ms-cosmos-changefeed-wire-format-version";
    let name = prop::sample::select(names.split(' ').collect::<Vec<_>>());
    let values = "True|False|*|[\"a\"]|[]|[{}]|0|-1|1|\"1\"|\"0=1,1=2\"|Incremental Feed|Full-Fidelity Feed|FF|05C1|\
                  0:-1#1|Fri, 02 Jan 2026 03:04:05 GMT|{\"maxThroughput\":1}|99999999999999999999";
    let value = prop_oneof![
        prop::sample::select(values.split('|').collect::<Vec<_>>()).prop_map(str::to_owned),
        "[ -~]{0,20}",
    ];
    let body = prop_oneof![
        prop::sample::select(vec![
            "", "{}", "[]", "{\"id\":\"1\",\"pk\":\"a\"}", "{\"query\":\"SELECT * FROM c\"}",
            "{\"query\":\"SELECT c.a, COUNT(1) FROM c GROUP BY c.a\",\"resumeFilter\":{\"value\":[1]}}",
            "[{\"operationType\":\"Create\",\"resourceBody\":{\"id\":\"1\",\"pk\":\"a\"}}]",
            "{\"operations\":[{\"op\":\"incr\",\"path\":\"/n\",\"value\":1}],\"condition\":\"from c where c.n > 1\"}",
            "{\"id\":\"x\",\"partitionKey\":{\"paths\":[\"/pk\"]}}",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..64),
        prop::collection::vec(any::<u8>(), 0..64).prop_map(|rest| [&[0x80][..], &rest].concat()),
        prop::collection::vec(any::<u8>(), 0..64)
            .prop_map(|rest| [&[0x81, 0xf0, 0xd8, 0xff, 0x7f][..], &rest].concat()),
    ];
    let method = prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]);
    let headers = prop::collection::vec((name, value), 0..6);
    (method, path, headers, body).prop_filter_map("a URI", |(method, path, headers, body)| {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        request.body(Bytes::from(body)).ok()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Each case sends many requests to one store, so that they meet what others left.
    #[test]
    fn no_request_fails_the_store(requests in prop::collection::vec(any_request(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let client = Client::new(2).await;
            client.create(json!({"id": "1", "pk": "a", "n": 1})).await;
            for request in requests {
                let shown = format!("{request:?}");
                let response = client.service.answer_signed(request).await;
                let status = response.status().as_u16();
                prop_assert!(status < 500 || status == 501, "{status} {:?} for {shown}", response.body());
            }
            Ok(())
        })?;
    }
}
