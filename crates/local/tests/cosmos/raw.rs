//! Raw requests, for cases that no SDK here sends.

use std::{collections::BTreeMap, time::Duration};

use azure_core::{credentials::Secret, hmac::hmac_sha256};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tributary_local::cosmos::{CosmosEndpoint, EndpointOptions, RunningServer, WELL_KNOWN_KEY};

pub(crate) const KEY: &str = "x-ms-documentdb-partitionkey";
pub(crate) const IS_QUERY: [(&str, &str); 2] =
    [("x-ms-documentdb-isquery", "True"), ("content-type", "application/query+json")];
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// By names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
    pub(crate) bytes: usize,
}

impl Answer {
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Returns the items of a page.
    pub(crate) fn items(&self) -> &[Value] {
        self.body["Documents"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn ids(&self) -> Vec<&str> {
        self.items().iter().map(|item| item["id"].as_str().unwrap()).collect()
    }
}

/// Starts a server without a database.
pub(crate) async fn serve(options: EndpointOptions) -> RunningServer {
    CosmosEndpoint::in_process(options).unwrap().serve(0).await.unwrap()
}

pub(crate) fn address(server: &RunningServer) -> String {
    let url = server.url();
    let address = url.strip_prefix("http://").unwrap();
    address.trim_end_matches('/').to_owned()
}

pub(crate) async fn get(server: &RunningServer, path: &str) -> Answer {
    send(server, "GET", path, &[], b"").await
}

pub(crate) async fn post(
    server: &RunningServer,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Answer {
    send(server, "POST", path, headers, body.to_string().as_bytes()).await
}

/// Sends a signed request.
pub(crate) async fn send(
    server: &RunningServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let token = token(method, path, WELL_KNOWN_KEY);
    exchange(server, &head(method, path, &token, headers), body).await
}

/// Sends a request for an address by `_rid`, signed as the service does it: over the last one alone.
pub(crate) async fn send_by_rid(
    server: &RunningServer,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Answer {
    let (kind, link) = resource(path);
    let rid = link.rsplit('/').next().unwrap().to_lowercase();
    let token = signed(method, kind, &rid, WELL_KNOWN_KEY);
    exchange(server, &head(method, path, &token, headers), b"").await
}

fn head(method: &str, path: &str, token: &str, headers: &[(&str, &str)]) -> String {
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{token}{}", headers.concat())
}

/// Returns the headers that sign a request, for an address by names.
pub(crate) fn token(method: &str, path: &str, key: &str) -> String {
    let (kind, link) = resource(path);
    signed(method, kind, link, key)
}

fn resource(path: &str) -> (&str, &str) {
    let path = path.trim_start_matches("http://cosmos.localhost").trim_matches('/');
    let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
    match path.split('/').collect::<Vec<_>>().as_slice() {
        names if names.len() % 2 == 1 => (last, parent),
        names => (names[names.len() - 2], path),
    }
}

fn signed(method: &str, kind: &str, link: &str, key: &str) -> String {
    let date = "Sat, 21 Nov 2026 12:00:00 GMT";
    let method = method.to_lowercase();
    let lower_date = date.to_lowercase();
    let payload = format!("{method}\n{kind}\n{link}\n{lower_date}\n\n");
    let signature = hmac_sha256(&payload, &Secret::new(key.to_owned())).unwrap();
    let signature = signature.replace('+', "%2B").replace('=', "%3D");
    format!("x-ms-date: {date}\r\nauthorization: type%3Dmaster%26ver%3D1.0%26sig%3D{signature}\r\n")
}

/// Sends one request of HTTP/1.1 on a connection of its own.
pub(crate) async fn exchange(server: &RunningServer, head: &str, body: &[u8]) -> Answer {
    let length = body.len();
    let head = format!("{head}connection: close\r\ncontent-length: {length}\r\n\r\n");
    let mut stream = TcpStream::connect(address(server)).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    timeout(DEADLINE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let bytes = body.len();
    let body = serde_json::from_str(body).unwrap_or_default();
    Answer { status, headers, body, bytes }
}
