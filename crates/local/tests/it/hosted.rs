//! A host whose handler records every request, and clients of it.

use std::time::Duration;

use axum::http::{HeaderName, Method};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tributary_local::client::{Call, Client, Reply};
use tributary_local::host::{Console, FunctionApp, Host, HostOptions, Settings};

use crate::support::{Folder, eventually, settings, staged};

/// A running host over an app with `tests/handler/handler.rs`.
pub(crate) struct Hosted {
    pub(crate) host: Host,
    pub(crate) console: Console,
    pub(crate) folder: Folder,
}

/// A request to the handler, or the end of its connection before the answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delivery {
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
    pub(crate) length: usize,
    /// The body ended early.
    pub(crate) aborted: bool,
    /// The time since 1970, or since the begin of a recorded case.
    pub(crate) arrived_s: f64,
    pub(crate) body_took_s: f64,
    /// The time until its connection was closed, if it was.
    pub(crate) left_after_s: Option<f64>,
}

impl Hosted {
    /// Starts a host that answers requests for any name.
    pub(crate) async fn start(functions: &[(&str, Value)]) -> Self {
        Self::with(functions, |options| options).await
    }

    pub(crate) async fn with(
        functions: &[(&str, Value)],
        options: impl FnOnce(HostOptions) -> HostOptions,
    ) -> Self {
        // The recordings name hosts and origins as they please.
        let allowed_hosts = vec!["*".to_owned()];
        let any_name = |given| options(HostOptions { allowed_hosts, ..given });
        Self::of(staged(functions), &settings(), any_name).await
    }

    pub(crate) async fn of(
        folder: Folder,
        settings: &Settings,
        options: impl FnOnce(HostOptions) -> HostOptions,
    ) -> Self {
        let app = FunctionApp::load(folder.path(), settings).unwrap();
        let console = Console::kept();
        let given = HostOptions { console: console.clone(), ..HostOptions::new(folder.path()) };
        let host = Host::start(app, settings, options(given)).await.unwrap();
        Self { host, console, folder }
    }

    /// Waits until the handler has had this number of invocations, and returns them.
    pub(crate) async fn invoked(&self, count: usize) -> Vec<Delivery> {
        let mut all = Vec::new();
        eventually("the invocations are there", async || {
            all.extend(self.folder.deliveries());
            (all.len() >= count).then(|| all.clone())
        })
        .await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.host.url())
    }

    pub(crate) fn address(&self) -> &str {
        self.host.url().trim_start_matches("http://")
    }

    pub(crate) async fn send_raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        read(&mut stream, bytes.starts_with(b"HEAD ")).await
    }
}

impl Delivery {
    pub(crate) fn header(&self, name: &str) -> &str {
        header(&self.headers, name).unwrap_or_default()
    }
}

/// Returns the value of a header, among lines such as `name: value`.
fn header<'a>(headers: &'a [String], name: &str) -> Option<&'a str> {
    headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

pub(crate) async fn send(method: Method, url: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut call = Call::new(method, "");
    for (name, value) in headers {
        call = call.header(name.parse::<HeaderName>().unwrap(), *value);
    }
    let body = (!body.is_empty()).then(|| body.as_bytes().to_vec().into());
    Client::new(url).unwrap().send(&Call { body, ..call }).await.unwrap()
}

pub(crate) async fn get(url: &str) -> Reply {
    send(Method::GET, url, &[], "").await
}

pub(crate) async fn post(url: &str, body: &Value) -> Reply {
    send(Method::POST, url, &[("content-type", "application/json")], &body.to_string()).await
}

/// An answer in its wire form, the body without its chunks.
#[derive(Debug)]
pub(crate) struct Answer {
    /// `HTTP/1.1 200 OK`.
    pub(crate) line: String,
    /// `name: value`, names in lower case, sorted, without the date.
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.line.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin), is_head: bool) -> Answer {
    let mut bytes = Vec::new();
    loop {
        if let Some(answer) = parse(&bytes, is_head, false) {
            return answer;
        }
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_buf(&mut bytes));
        if read.await.unwrap().unwrap() == 0 {
            return parse(&bytes, is_head, true).unwrap();
        }
    }
}

fn parse(bytes: &[u8], is_head: bool, ended: bool) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches("HTTP/1.1 100 Continue\r\n\r\n");
    let (head, rest) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let lower = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        format!("{}: {value}", name.to_ascii_lowercase())
    };
    let mut headers: Vec<String> = lines.map(lower).collect();
    headers.retain(|line| !line.starts_with("date: "));
    headers.sort();
    let mut answer = Answer { line, headers, body: String::new() };
    if is_head || matches!(answer.status(), 204 | 304) {
        return Some(answer);
    }
    answer.body = if answer.header("transfer-encoding").is_some() {
        unchunked(rest)?
    } else if let Some(length) = answer.header("content-length") {
        rest.get(..length.parse().ok()?).or(ended.then_some(rest))?.to_owned()
    } else {
        ended.then(|| rest.to_owned())?
    };
    Some(answer)
}

/// Returns the text of a chunked body, as soon as its last chunk has arrived.
pub(crate) fn unchunked(mut text: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (size, rest) = text.split_once("\r\n")?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.push_str(rest.get(..size)?);
        text = rest.get(size + 2..)?;
    }
}
