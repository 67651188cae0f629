//! Every case of `recorded/host-http.json`: the requests and answers of the real host.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tributary_local::host::{HostOptions, Keys};

use crate::recorder::{Answer, Delivery, Recorder, unchunked};
use crate::support::http_function;

#[derive(Deserialize)]
struct Recorded {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    request: Request,
    #[serde(default)]
    handler_answers: Value,
    answer: Expected,
    deliveries: usize,
    handler_saw: Option<Seen>,
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

#[derive(Deserialize)]
struct Expected {
    status: Value,
    headers: Vec<String>,
    #[serde(default)]
    body: String,
}

#[derive(Deserialize)]
struct Seen {
    line: String,
    headers: Vec<String>,
    #[serde(default)]
    body: String,
}

fn functions() -> Vec<(&'static str, Value)> {
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

/// Placeholders of values that differ from run to run.
struct Names {
    keys: Keys,
    host: String,
}

impl Names {
    fn fill(&self, text: &str) -> String {
        text.replace("{function key}", &self.keys.function)
            .replace("{master key}", &self.keys.master)
    }

    /// Returns the handler's request in the form of the recording.
    fn seen(&self, delivery: &Delivery) -> (String, Vec<String>, String) {
        let id = delivery.header("x-azure-functions-invocationid").to_owned();
        let own = |line: &String| match line.split_once(": ") {
            Some(("host", _)) => "host: {handler}".to_owned(),
            Some(("x-azure-functions-hostversion", _)) => {
                "x-azure-functions-hostversion: 4.1037.0.0".to_owned()
            }
            Some((name, value)) if value == id => format!("{name}: {{invocation}}"),
            Some((name, value)) if value == self.host => format!("{name}: {{host}}"),
            _ => self.unfill(line),
        };
        let mut headers: Vec<String> = delivery.headers.iter().map(own).collect();
        headers.sort();
        (self.unfill(&delivery.line), headers, delivery.body.clone())
    }

    fn unfill(&self, text: &str) -> String {
        text.replace(&self.keys.function, "{function key}")
            .replace(&self.keys.master, "{master key}")
    }

    fn bytes(&self, request: &Request) -> Vec<u8> {
        if let Some(raw) = &request.raw {
            return raw.clone().into_bytes();
        }
        let Request { method, path, headers, body, chunked, .. } = request;
        // The client of the recording asks for no encoding, and sends a length with these methods.
        let mut lines = vec![format!("{method} {} HTTP/1.1", self.fill(path))];
        lines.push(format!("Host: {}", self.host));
        if !headers.contains_key("Accept-Encoding") {
            lines.push("Accept-Encoding: identity".to_owned());
        }
        let body = body.as_deref();
        if *chunked {
            lines.push("Transfer-Encoding: chunked".to_owned());
        } else if body.is_some() || method == "PUT" {
            // Each character of the recording is a byte.
            lines.push(format!("Content-Length: {}", body.unwrap_or_default().chars().count()));
        }
        lines.extend(headers.iter().map(|(name, value)| format!("{name}: {}", self.fill(value))));
        let mut bytes = format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes();
        let body: Vec<u8> =
            body.unwrap_or_default().chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        if *chunked {
            bytes.extend(format!("{:x}\r\n", body.len()).into_bytes());
            bytes.extend(&body);
            bytes.extend(b"\r\n0\r\n\r\n");
        } else {
            bytes.extend(&body);
        }
        bytes
    }
}

/// Returns the differences from the recording, in sentences.
fn differences(case: &Case, names: &Names, answer: &Answer, seen: &[Delivery]) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, expected: String, got: String| {
        if expected != got {
            differences.push(format!("{what}: {expected} was recorded, and this is {got}"));
        }
    };
    match &case.answer.status {
        Value::String(line) => differ("status", line.clone(), answer.line.clone()),
        status => differ("status", status.to_string(), answer.status().to_string()),
    }
    let mut headers = answer.headers.clone();
    headers.retain(|line| !line.starts_with("date: "));
    differ("headers", format!("{:?}", case.answer.headers), format!("{headers:?}"));
    let body = unchunked(&case.answer.body).unwrap_or_else(|| case.answer.body.clone());
    differ("body", body, answer.body.clone());
    differ("deliveries", case.deliveries.to_string(), seen.len().to_string());
    if let (Some(expected), Some(first)) = (&case.handler_saw, seen.first()) {
        let (line, headers, body) = names.seen(first);
        differ("request line", expected.line.clone(), line);
        differ("request headers", format!("{:?}", expected.headers), format!("{headers:?}"));
        differ("request body", expected.body.clone(), body);
    }
    differences
}

/// Returns the names in the table of `docs/local.md`.
fn known_to_differ() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/local.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("| recorded request |").unwrap();
    let rows = table.lines().skip(2).map_while(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_recorded_request_is_forwarded_and_answered_as_by_the_host() {
    let text = include_str!("../recorded/host-http.json");
    let Recorded { cases } = serde_json::from_str(text).unwrap();
    assert_eq!(cases.len(), 70);
    let keys = Keys::generate();
    let given = keys.clone();
    let recorder = Recorder::start_with(&functions(), &[], |options| HostOptions {
        keys: Some(given),
        ..options
    })
    .await;
    let names = Names { keys, host: recorder.address().to_owned() };
    let mut differing = BTreeMap::new();
    for case in &cases {
        let nothing_said = json!(Map::new());
        let answers =
            if case.handler_answers.is_null() { &nothing_said } else { &case.handler_answers };
        recorder.answers(answers);
        let answer = recorder.send_raw(&names.bytes(&case.request)).await;
        let seen = recorder.deliveries();
        let differences = differences(case, &names, &answer, &seen);
        if !differences.is_empty() {
            differing.insert(case.name.clone(), differences);
        }
    }
    recorder.host.stop().await;
    let known = known_to_differ();
    let unknown: Vec<_> = differing.iter().filter(|(name, _)| !known.contains(name)).collect();
    assert!(unknown.is_empty(), "{} of {}: {unknown:#?}", unknown.len(), cases.len());
    let alike: Vec<_> = known.iter().filter(|name| !differing.contains_key(*name)).collect();
    assert!(alike.is_empty(), "docs/local.md says of these that they differ: {alike:?}");
}
