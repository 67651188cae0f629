//! A host whose handler records every request, and a client that sends raw requests.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tributary_local::host::{Console, FunctionApp, Host, HostOptions, Settings};

use crate::support::{Folder, staged_with};

/// A running host over `tests/handlers/recording_handler.rs`.
pub(crate) struct Recorder {
    pub(crate) host: Host,
    folder: Folder,
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

impl Recorder {
    pub(crate) async fn start(functions: &[(&str, Value)]) -> Self {
        Self::start_with(functions, |options| options).await
    }

    pub(crate) async fn start_with(
        functions: &[(&str, Value)],
        options: impl FnOnce(HostOptions) -> HostOptions,
    ) -> Self {
        let folder = staged_with("recording_handler", functions);
        let values = [
            ("RECORDING_FOLDER", folder.path().to_str().unwrap()),
            ("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT", "16000000"),
        ];
        let values: Settings = values.into_iter().collect();
        let app = FunctionApp::load(folder.path(), &values).unwrap();
        // The recordings name hosts and origins as they please.
        let allowed_hosts = vec!["*".to_owned()];
        let console = Console::kept();
        let given = HostOptions { console, allowed_hosts, ..HostOptions::new(folder.path()) };
        let host = Host::start(app, &values, options(given)).await.unwrap();
        Self { host, folder }
    }

    /// Sets the answer of the handler.
    pub(crate) fn answers(&self, answer: &Value) {
        std::fs::write(self.file("answer"), answer.to_string()).unwrap();
    }

    /// Returns the handler's requests since the last call.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        let text = std::fs::read_to_string(self.file("deliveries")).unwrap_or_default();
        let _ = std::fs::remove_file(self.file("deliveries"));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns `127.0.0.1:<port>`.
    pub(crate) fn address(&self) -> &str {
        self.host.url().trim_start_matches("http://")
    }

    /// Sends a request without a body.
    pub(crate) async fn ask(&self, line: &str) -> Answer {
        self.send(line, "").await
    }

    /// Sends a request; a body that is not empty gets its length.
    pub(crate) async fn send(&self, line: &str, body: &str) -> Answer {
        let length = match body.len() {
            0 => String::new(),
            length => format!("Content-Length: {length}\r\n"),
        };
        let head = format!("{line} HTTP/1.1\r\nHost: {}\r\n{length}\r\n", self.address());
        self.send_raw((head + body).as_bytes()).await
    }

    /// Sends these bytes and reads one answer.
    pub(crate) async fn send_raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let is_head = bytes.starts_with(b"HEAD ");
        read(&mut stream, is_head).await
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

/// An answer in its wire form, the body without its chunks.
#[derive(Debug)]
pub(crate) struct Answer {
    /// `HTTP/1.1 200 OK`.
    pub(crate) line: String,
    /// `name: value`, names in lower case, sorted.
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

/// Parses an answer as soon as it is complete.
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
