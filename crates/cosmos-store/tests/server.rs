//! The store behind a socket.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use cosmos_store::{
    engine::{Engine, Name},
    http::{Options, Server, Service, WELL_KNOWN_KEY, authorization},
};
use http::{Response, response::Parts};
use http_body_util::BodyExt as _;
use reqwest::{Body, Client, Method};
use serde_json::{Value, json};

const DATE: &str = "Thu, 27 Apr 2017 00:51:12 GMT";

/// A connection would end with the test that has opened it.
static CLIENT: LazyLock<Client> =
    LazyLock::new(|| Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap());

async fn served(engine: Engine, options: Options) -> Server {
    Service::new(engine, options).serve(([127, 0, 0, 1], 0).into()).await.unwrap()
}

async fn send(
    server: &Server,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> (Parts, Value) {
    let address = format!("http://{}{path}", server.address());
    let mut request = CLIENT
        .request(Method::from_bytes(method.as_bytes()).unwrap(), address)
        .header("x-ms-date", DATE)
        .header("authorization", authorization(method, path, DATE, WELL_KNOWN_KEY));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.body(body).send().await.unwrap();
    let (parts, body) = Response::<Body>::from(response).into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_port_answers_until_the_server_is_stopped() {
    let server = served(Engine::open(None).unwrap(), Options::default()).await;
    let (_, account) = send(&server, "GET", "/", &[], "").await;
    assert_eq!(account["readableLocations"][0]["databaseAccountEndpoint"], server.url());
    // A larger body is read before it is refused, so that the client sees the answer.
    let (_, refusal) = send(&server, "POST", "/dbs", &[], vec![b' '; 9 << 20]).await;
    assert_eq!(refusal["code"], "RequestEntityTooLarge");
    let address = server.address();
    server.stop().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn an_encrypted_port_has_a_certificate_for_this_machine() {
    let options = Options { https: true, ..Options::default() };
    let server = served(Engine::open(None).unwrap(), options).await;
    assert!(server.url().starts_with("https://127.0.0.1:"));
    assert!(server.certificate().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    // What is not TLS ends that connection alone.
    for _ in 0..2 {
        let plain = format!("http://{}/", server.address());
        assert!(CLIENT.get(plain).send().await.is_err());
    }
    server.stop().await;
}

/// A store with an item, on two ports.
async fn two_regions(lag: Duration) -> Server {
    let engine = Engine::open(None).unwrap();
    engine.create_database(&json!({"id": "d"}), None).await.unwrap();
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"]}});
    engine.create_container(Name::Id("d"), &container, 1, None).await.unwrap();
    served(engine, Options { read_region_lag: Some(lag), ..Options::default() }).await
}

const ITEMS: &str = "/dbs/d/colls/c/docs";
const ITEM: &str = "/dbs/d/colls/c/docs/a";
const KEY: (&str, &str) = ("x-ms-documentdb-partitionkey", "[1]");

async fn write(server: &Server) -> (Parts, Value) {
    let headers = [KEY, ("x-ms-documentdb-is-upsert", "true")];
    send(server, "POST", ITEMS, &headers, r#"{"id": "a", "pk": 1}"#).await
}

fn header<'a>(parts: &'a Parts, name: &str) -> &'a str {
    parts.headers.get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn what_is_read_in_the_second_region_is_old_whatever_is_asked_for() {
    let server = two_regions(Duration::from_hours(1)).await;
    let second = server.read_region().unwrap();
    for region in [&server, second] {
        let (_, account) = send(region, "GET", "/", &[], "").await;
        let write = json!({"name": "East US", "databaseAccountEndpoint": server.url()});
        let read = json!({"name": "West US", "databaseAccountEndpoint": second.url()});
        assert_eq!(account["writableLocations"], json!([write]));
        assert_eq!(account["readableLocations"], json!([write, read]));
    }
    let (written, _) = write(&server).await;
    let token = header(&written, "x-ms-session-token");
    let newest = ("x-ms-cosmos-read-consistency-strategy", "LatestCommitted");
    let session = ("x-ms-session-token", token);
    let eventual = ("x-ms-consistency-level", "Eventual");
    for (headers, sub_status) in [
        (vec![KEY], ""),
        (vec![KEY, newest], ""),
        (vec![KEY, session, eventual], ""),
        (vec![KEY, session], "1002"),
    ] {
        let (first, _) = send(&server, "GET", ITEM, &headers, "").await;
        assert_eq!(first.status, 200, "{headers:?}");
        let (parts, _) = send(second, "GET", ITEM, &headers, "").await;
        let found = (parts.status.as_u16(), header(&parts, "x-ms-substatus"));
        assert_eq!(found, (404, sub_status), "{headers:?}");
    }
    let query = [KEY, ("x-ms-documentdb-isquery", "True")];
    for (region, count) in [(&server, 1), (second, 0)] {
        let (_, page) =
            send(region, "POST", ITEMS, &query, r#"{"query": "SELECT * FROM c"}"#).await;
        assert_eq!(page["_count"], count);
        let (_, page) = send(region, "GET", ITEMS, &[], "").await;
        assert_eq!(page["_count"], count);
        let (parts, _) = send(region, "GET", ITEMS, &[("a-im", "Incremental feed")], "").await;
        assert_eq!(parts.status, if count == 1 { 200 } else { 304 });
    }
    server.stop().await;
}

#[tokio::test]
async fn writes_are_refused_in_the_second_region_and_arrive_there_after_the_lag() {
    let lag = Duration::from_millis(100);
    let server = two_regions(lag).await;
    let second = server.read_region().unwrap();
    let (refused, _) = write(second).await;
    assert_eq!((refused.status.as_u16(), header(&refused, "x-ms-substatus")), (403, "3"));
    let (written, _) = write(&server).await;
    let headers = [KEY, ("x-ms-session-token", header(&written, "x-ms-session-token"))];
    let began = Instant::now();
    while send(second, "GET", ITEM, &headers, "").await.0.status != 200 {
        assert!(began.elapsed() < 100 * lag, "the write does not arrive");
        tokio::time::sleep(lag / 10).await;
    }
    server.stop().await;
}
