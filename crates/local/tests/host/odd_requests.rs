//! Requests at the edges of HTTP, and answers without a body, as the host's server treats them.

use serde_json::{Value, json};

use crate::http::{get, send, start};
use crate::recorder::{Answer, Recorder};
use crate::support::{http_function, settings, staged};

fn functions() -> Vec<(&'static str, Value)> {
    let methods = ["get", "head", "post", "delete"];
    vec![("All", http_function("api/{*path}", &methods, "anonymous"))]
}

fn has(answer: &Answer, header: &str) -> bool {
    answer.headers.iter().any(|line| line == header)
}

#[tokio::test]
async fn an_answer_without_a_body_has_the_length_zero_and_no_chunks() {
    let recorder = Recorder::start(&functions()).await;
    for (status, line, has_length) in [
        (200, "GET /api/a", true),
        (404, "DELETE /api/a", true),
        (200, "HEAD /api/a", false),
        (204, "GET /api/a", false),
        (304, "GET /api/a", false),
    ] {
        let empty = json!({ "status": status, "headers": {}, "body": "", "chunked": true });
        recorder.answers(&empty);
        let answer = recorder.ask(line).await;
        assert_eq!(answer.status(), status);
        assert_eq!(has(&answer, "content-length: 0"), has_length, "{line}: {answer:?}");
        assert!(!has(&answer, "transfer-encoding: chunked"), "{line}: {answer:?}");
    }
    recorder.host.stop().await;
}

#[tokio::test]
async fn the_status_of_the_host_names_the_host_and_how_long_it_runs() {
    let app = staged(&functions());
    let (host, _) = start(&app, &settings(), None).await;
    let url = format!("{}/admin/host/status", host.url());
    let status = get(&url).await.json();
    assert_eq!(status["state"], "Running");
    assert_eq!(status["version"], "4.1037.0.0");
    for name in ["id", "versionDetails", "platformVersion", "instanceId", "computerName"] {
        assert!(status[name].is_string(), "{name} of {status}");
    }
    let uptime = |status: &Value| status["processUptime"].as_u64().unwrap();
    let later = send(http::Method::GET, &url, &[], "").await.json();
    assert!(uptime(&later) >= uptime(&status));
    assert_eq!(later["instanceId"], status["instanceId"]);
    host.stop().await;
}

#[tokio::test]
async fn a_request_without_one_valid_host_is_a_400_and_is_not_delivered() {
    let recorder = Recorder::start(&functions()).await;
    let of_host = |host: &str| format!("GET /api/a HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let absolute =
        |host: &str| format!("GET http://a.example/api/a HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let refused = [
        "GET /api/a HTTP/1.1\r\n\r\n".to_owned(),
        "GET /api/a HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n".to_owned(),
        "GET /api/a HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n".to_owned(),
        of_host("a b"),
        of_host("a/b"),
        of_host("a,b"),
        of_host("user@a"),
        of_host(":80"),
        of_host("a:"),
        of_host("a:8o"),
        of_host("ü"),
        of_host("[::1"),
        of_host("[::g]"),
        of_host("[::1]80"),
        absolute("b.example"),
        absolute("a.example:81"),
    ];
    for request in &refused {
        let answer = recorder.send_raw(request.as_bytes()).await;
        assert_eq!(answer.line, "HTTP/1.1 400 Bad Request", "{request:?}");
        assert!(has(&answer, "connection: close"), "{request:?}: {answer:?}");
        assert!(has(&answer, "content-length: 0"), "{request:?}: {answer:?}");
        assert_eq!(recorder.deliveries().len(), 0, "{request:?}");
    }
    let taken =
        ["a", "a:80", "a_b!.example", "127.0.0.1:7071", "[::1]", "[::1]:80", ""].map(of_host);
    for request in taken.into_iter().chain(["a.example", "a.example:80"].map(absolute)) {
        let answer = recorder.send_raw(request.as_bytes()).await;
        assert_eq!(answer.line, "HTTP/1.1 200 OK", "{request:?}");
        assert_eq!(recorder.deliveries().len(), 1, "{request:?}");
    }
    recorder.host.stop().await;
}

#[tokio::test]
async fn a_request_of_http_1_0_is_answered_in_1_1_and_its_body_is_delivered() {
    let recorder = Recorder::start(&functions()).await;
    let post = b"POST /api/a HTTP/1.0\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    let answer = recorder.send_raw(post).await;
    assert_eq!(answer.line, "HTTP/1.1 200 OK");
    assert!(has(&answer, "connection: close"), "{answer:?}");
    assert!(!has(&answer, "transfer-encoding: chunked"), "{answer:?}");
    assert_eq!(recorder.deliveries().remove(0).body, "{}");
    let answer = recorder.send_raw(b"GET /api/a%00 HTTP/1.0\r\nHost: a\r\n\r\n").await;
    assert_eq!(answer.line, "HTTP/1.1 400 Bad Request");
    assert!(has(&answer, "connection: close"), "{answer:?}");
    recorder.host.stop().await;
}
