//! The store behind a socket.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use bytes::Bytes;
use cosmos_store::{
    engine::Engine,
    http::{Options, Server, Service, WELL_KNOWN_KEY, authorization},
};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde_json::Value;

const DATE: &str = "Thu, 27 Apr 2017 00:51:12 GMT";

async fn served(options: Options) -> Server {
    let service = Service::new(Engine::open(None).unwrap(), options);
    service.serve(([127, 0, 0, 1], 0).into()).await.unwrap()
}

async fn send(
    server: &Server,
    method: &str,
    path: &str,
    body: impl Into<Bytes>,
) -> (StatusCode, Value) {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::builder()
        .method(method)
        .uri(format!("http://{}{path}", server.address()))
        .header("x-ms-date", DATE)
        .header("authorization", authorization(method, path, DATE, WELL_KNOWN_KEY))
        .body(Full::<Bytes>::from(body.into()))
        .unwrap();
    let response = client.request(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_port_answers_until_the_server_is_stopped() {
    let server = served(Options::default()).await;
    let (status, account) = send(&server, "GET", "/", "").await;
    assert_eq!(status, 200);
    assert_eq!(account["readableLocations"][0]["databaseAccountEndpoint"], server.url());
    assert_eq!(send(&server, "POST", "/dbs", r#"{"id":"d"}"#).await.0, 201);
    // A larger body is read before it is refused, so that the client sees the answer.
    let (status, refusal) = send(&server, "POST", "/dbs", vec![b' '; 9 << 20]).await;
    assert_eq!((status.as_u16(), refusal["code"].as_str()), (413, Some("RequestEntityTooLarge")));
    let address = server.address();
    server.stop().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn an_encrypted_port_has_a_certificate_for_this_machine() {
    let server = served(Options { https: true, ..Options::default() }).await;
    assert!(server.url().starts_with("https://127.0.0.1:"));
    assert!(server.certificate().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    // What is not TLS ends that connection alone.
    for _ in 0..2 {
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let plain = format!("http://{}/", server.address()).parse().unwrap();
        assert!(client.get(plain).await.is_err());
    }
    server.stop().await;
}
