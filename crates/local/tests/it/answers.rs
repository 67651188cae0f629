//! Every case of `recorded/host-http.json`: the requests and answers of the real host. Then more requests at
//! the edges of HTTP, and answers without a body.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tributary_local::host::{HostOptions, Keys};

use crate::hosted::{Answer, Delivery, Hosted, unchunked};
use crate::support::{all_paths, http_function};

#[derive(Deserialize)]
struct Case {
    name: String,
    request: Request,
    #[serde(default)]
    handler_answers: Map<String, Value>,
    answer: Value,
    deliveries: usize,
    handler_saw: Option<Delivery>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Request {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Option<String>,
    chunked: bool,
    raw: Option<String>,
}

pub(crate) fn functions() -> Vec<(&'static str, Value)> {
    let all = ["get", "head", "post", "put", "patch", "delete", "options"];
    let mut off = http_function("api/off", &["get"], "anonymous");
    off["disabled"] = true.into();
    vec![
        ("Get", http_function("api/things/{id}", &["get"], "anonymous")),
        ("Lit", http_function("api/things/special", &["get"], "anonymous")),
        ("Post", http_function("api/things/{id?}", &["post", "put", "delete"], "anonymous")),
        ("Keyed", http_function("api/keyed", &["get", "post"], "function")),
        ("Admin", http_function("api/adm", &["get"], "admin")),
        ("Off", off),
        ("ZAll", http_function("api/{*path}", &all, "anonymous")),
    ]
}

impl Request {
    fn bytes(&self, host: &str) -> Vec<u8> {
        let Self { method, path, headers, body, chunked, raw } = self;
        if let Some(raw) = raw {
            return raw.clone().into_bytes();
        }
        // The client of the recording asks for no encoding, and sends a length with these methods.
        let mut lines = vec![format!("{method} {path} HTTP/1.1"), format!("Host: {host}")];
        if !headers.contains_key("Accept-Encoding") {
            lines.push("Accept-Encoding: identity".to_owned());
        }
        // Each character of the recording is a byte.
        let text = body.as_deref().unwrap_or_default();
        let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        if *chunked {
            lines.push("Transfer-Encoding: chunked".to_owned());
        } else if body.is_some() || method == "PUT" {
            lines.push(format!("Content-Length: {}", bytes.len()));
        }
        lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        let head = format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes();
        if *chunked {
            let size = format!("{:x}\r\n", bytes.len()).into_bytes();
            return [head, size, bytes, b"\r\n0\r\n\r\n".to_vec()].concat();
        }
        [head, bytes].concat()
    }
}

/// Returns the headers of the handler's request in the form of the recording.
fn headers_of(delivery: &Delivery) -> Vec<String> {
    let id = delivery.header("x-azure-functions-invocationid");
    let line = |line: &String| match line.split_once(": ") {
        Some(("host", _)) => "host: {handler}".to_owned(),
        Some((name, value)) if value == id => format!("{name}: {{invocation}}"),
        _ => line.clone(),
    };
    let mut headers: Vec<String> = delivery.headers.iter().map(line).collect();
    headers.sort();
    headers
}

fn differences(case: &Case, answer: &Answer, seen: &[Delivery]) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, expected: String, got: String| {
        if expected != got {
            differences.push(format!("{what}: {expected} was recorded, and this is {got}"));
        }
    };
    match &case.answer["status"] {
        Value::String(line) => differ("status", line.clone(), answer.line.clone()),
        status => differ("status", status.to_string(), answer.status().to_string()),
    }
    let headers = Value::from(answer.headers.clone());
    differ("headers", case.answer["headers"].to_string(), headers.to_string());
    let body = case.answer["body"].as_str().unwrap_or_default();
    let body = unchunked(body).unwrap_or_else(|| body.to_owned());
    differ("body", body, answer.body.clone());
    differ("deliveries", case.deliveries.to_string(), seen.len().to_string());
    if let (Some(expected), Some(first)) = (&case.handler_saw, seen.first()) {
        differ("request line", expected.line.clone(), first.line.clone());
        let headers = headers_of(first);
        differ("request headers", format!("{:?}", expected.headers), format!("{headers:?}"));
        differ("request body", expected.body.clone(), first.body.clone());
    }
    differences
}

/// Returns the names in the table of `docs/local.md` whose first column is so called.
pub(crate) fn known_to_differ(column: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/local.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once(&format!("| {column} |")).unwrap();
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_recorded_request_is_forwarded_and_answered_as_by_the_host() {
    let keys = Keys::generate();
    let given = Some(keys.clone());
    let hosted = Hosted::with(&functions(), |options| HostOptions { keys: given, ..options }).await;
    let text = include_str!("../recorded/host-http.json").replace("{host}", hosted.address());
    let text = text.replace("{function key}", &keys.function).replace("{master key}", &keys.master);
    let mut file: Value = serde_json::from_str(&text).unwrap();
    let cases: Vec<Case> = serde_json::from_value(file["cases"].take()).unwrap();
    assert_eq!(cases.len(), 70);
    let mut differing = BTreeMap::new();
    for case in &cases {
        hosted.folder.answers(&case.handler_answers.clone().into());
        let answer = hosted.send_raw(&case.request.bytes(hosted.address())).await;
        let seen = hosted.folder.deliveries();
        let differences = differences(case, &answer, &seen);
        if !differences.is_empty() {
            differing.insert(case.name.clone(), differences);
        }
    }
    hosted.host.stop().await;
    let known = known_to_differ("recorded request");
    let unknown: Vec<_> = differing.iter().filter(|(name, _)| !known.contains(name)).collect();
    assert!(unknown.is_empty(), "{} of {}: {unknown:#?}", unknown.len(), cases.len());
    let alike: Vec<_> = known.iter().filter(|name| !differing.contains_key(*name)).collect();
    assert!(alike.is_empty(), "docs/local.md says of these that they differ: {alike:?}");
}

#[tokio::test]
async fn an_answer_without_chunks_has_the_length_zero() {
    let hosted = Hosted::start(&all_paths()).await;
    hosted.folder.answers(&json!({ "headers": {}, "body": "", "chunked": true }));
    let answer = hosted.send_raw(b"GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(answer.headers, ["content-length: 0"]);
    hosted.host.stop().await;
}

#[tokio::test]
async fn a_request_without_one_valid_host_is_a_400_and_is_not_delivered() {
    let hosted = Hosted::start(&all_paths()).await;
    let of_host = |host: &str| format!("GET /api/a HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let absolute =
        |host: &str| format!("GET http://a.example/api/a HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let refused = [
        "GET /api/a HTTP/1.1\r\n\r\n".to_owned(),
        of_host("a\r\nHost: a"),
        absolute("b.example"),
        absolute("a.example:81"),
    ];
    let hosts = ["a b", "a/b", "a,b", "user@a", ":80", "a:", "a:8o", "ü", "[::1", "[::1]80"];
    for request in refused.into_iter().chain(hosts.map(of_host)) {
        let answer = hosted.send_raw(request.as_bytes()).await;
        assert_eq!(answer.line, "HTTP/1.1 400 Bad Request", "{request:?}");
        assert_eq!(answer.headers, ["connection: close", "content-length: 0"], "{request:?}");
    }
    assert_eq!(hosted.folder.deliveries().len(), 0);
    let taken =
        ["a", "a:80", "a_b!.example", "127.0.0.1:7071", "[::1]", "[::1]:80", ""].map(of_host);
    for request in taken.into_iter().chain(["a.example", "a.example:80"].map(absolute)) {
        hosted.send_raw(request.as_bytes()).await;
        assert_eq!(hosted.folder.deliveries().len(), 1, "{request:?}");
    }
    hosted.host.stop().await;
}
