//! Requests through the stand-in for the Functions host to the handler's own process.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures::future::join_all;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    handler::{self, Handler},
    hosted::Hosted,
    world::World,
};

const JSON: &str = "Content-Type: application/json";

#[tokio::test]
async fn an_answer_before_the_end_of_the_body_is_not_lost() {
    let hosted = Hosted::blog().await;
    let user = json!({"username": "Carl"}).to_string();
    let too_large = " ".repeat(1024 * 1024 + 1);
    let cases = [
        ("POST /api/nowhere", JSON, user.as_str(), 404),
        ("PATCH /api/posts/p1", JSON, &user, 405),
        ("DELETE /api/feed", JSON, &user, 405),
        ("POST /api/users", "Content-Type: text/plain", &user, 415),
        ("PUT /api/users/a%20b", JSON, &user, 400),
        ("POST /api/users", JSON, &too_large, 413),
        ("PUT /api/posts/none/likes/ann", JSON, &too_large, 404),
        ("GET /api/users/none", JSON, &user, 404),
        ("GET /api/users/ann", JSON, &user, 200),
    ];
    let answers = cases.iter().map(async |(line, header, body, status)| {
        let head = format!("{line} HTTP/1.1\r\n{header}");
        let answer = hosted.send_slowly(&head, body.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
        let is_problem = answer.contains("content-type: application/problem+json");
        assert_eq!(is_problem, *status >= 400, "{line}: {answer}");
    });
    join_all(answers).await;
    hosted.host.stop().await;
}

#[tokio::test]
async fn a_client_cannot_end_the_process() {
    let handler = handler::start(&World::new().await, &[]).await;
    let deep = |open: &str| open.repeat(500_000);
    let post = |path: &str, body: &str| {
        format!("POST {path} HTTP/1.1\r\n{JSON}\r\nContent-Length: {}\r\n", body.len())
            + "\r\n"
            + body
    };
    let get =
        |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nHost: h\r\n{headers}\r\n");
    let cursor = |json: &str| BASE64_URL_SAFE_NO_PAD.encode(json);
    let comments = "/api/posts/p1/comments";
    let mut requests = vec![
        get(&format!("{comments}?cursor={}", cursor(&"[".repeat(20_000))), ""),
        get(&format!("{comments}?cursor={}", cursor(&"{\"a\":".repeat(5_000))), ""),
        get(&format!("{comments}?limit=99999999999999999999&limit=-1"), ""),
        get(&format!("{comments}?{}", "limit=1&".repeat(7_000)), ""),
        get(&format!("/api/{}", "a/".repeat(30_000)), ""),
        get(&format!("/api/{}", "%2e%2e/".repeat(8_000)), ""),
        get(&format!("/{}", "x".repeat(1_000_000)), ""),
        get("/api/feed", &"X-Header: value\r\n".repeat(10_000)),
        get("/api/feed", &format!("X-Header: {}\r\n", "v".repeat(1_000_000))),
        get("/api/users/ann", &format!("If-None-Match: {}\r\n", "\"a\",".repeat(60_000))),
        get(
            "/api/users/ann",
            &format!("traceparent: {}\r\ntracestate: \u{ff}\r\n", "0".repeat(60_000)),
        ),
        format!(
            "POST {comments} HTTP/1.1\r\n{JSON}\r\nIdempotency-Key: {}\r\n\r\n{{}}",
            "k".repeat(60_000)
        ),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n".to_owned(),
        "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(),
    ];
    // A trigger is reached from inside only; a caller inside cannot end it either.
    for path in ["/api/users", "/HomeFeed", "/AuditBlog", "/PutPost"] {
        requests.extend([
            post(path, &deep("[")),
            post(path, &deep("{\"Data\":")),
            post(path, &format!("{{\"Data\":{{\"documents\":{}}}}}", deep("["))),
            post(path, &format!("{{\"Data\":{{\"documents\":\"{}\"}}}}", deep("["))),
            post(path, &format!("{{\"Data\":{{\"documents\":[{}{}]}}}}", deep("["), deep("]"))),
            post(path, "{\"Data\":{\"documents\":[1e999999999,\"\\ud800\"]}}"),
            post(path, "{\"username\":1e999999999}"),
        ]);
        for length in ["18446744073709551615", "18446744073709551616", "9223372036854775807", "-1"]
        {
            requests.push(format!(
                "POST {path} HTTP/1.1\r\n{JSON}\r\nContent-Length: {length}\r\n\r\n{{"
            ));
        }
        for chunk in ["ffffffffffffffff", "fffffffffffffffff", "7fffffffffffffff", "-1", "0;a"] {
            requests.push(format!(
                "POST {path} HTTP/1.1\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}\r\n{{"
            ));
        }
    }
    let answers = requests.iter().map(|request| send(&handler, request.as_bytes()));
    for (answer, request) in join_all(answers).await.into_iter().zip(&requests) {
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let begin: String = request.chars().take(100).collect();
        assert!(!answer.starts_with("HTTP/1.1 500 "), "{begin}: {answer}");
    }
    assert_eq!(handler.send("GET", "/", &[], "").await.status, 200);
    assert!(!handler.output().join("\n").contains("panick"), "{:?}", handler.output());
}

/// Sends these bytes and nothing more, and reads the answer. A server may close a connection whose caller has
/// ended its side.
async fn send(handler: &Handler, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(handler.address()).await.unwrap();
    // The handler may answer and close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
    answer
}
