//! The handler's own process behind the stand-in for the Functions host, over TCP.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tributary_local::{
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer},
    host::{Console, FunctionApp, Host, HostOptions, Settings},
};

use crate::world::Answer;

/// The app behind a host.
pub(crate) struct Hosted {
    pub(crate) host: Host,
    pub(crate) endpoint: CosmosEndpoint,
    pub(crate) console: Console,
    client: Client<HttpConnector, Body>,
    _server: RunningServer,
}

impl Hosted {
    pub(crate) async fn blog() -> Self {
        let hosted = Self::start().await;
        for (path, body) in [
            ("/api/users/ann", json!({"username": "Ann"})),
            ("/api/users/bob", json!({"username": "Bob"})),
            ("/api/posts/p1", json!({"userId": "ann", "title": "A title", "content": "A content"})),
        ] {
            hosted.put(path, &body).await.expect(201);
        }
        hosted
    }

    /// The app without data; its handler logs warnings and errors only.
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// The app without data, with these settings.
    pub(crate) async fn with(more: &[(&str, &str)]) -> Self {
        // The deployment turns the home page off, too.
        let settings = [("RUST_LOG", "warn"), ("AzureWebJobsDisableHomepage", "true")];
        let options = HostOptions::new(folder());
        Self::of(root(), &[&settings, more].concat(), options).await
    }

    /// The app in a folder.
    pub(crate) async fn of(app: &Path, more: &[(&str, &str)], options: HostOptions) -> Self {
        let endpoint = CosmosEndpoint::new(EndpointOptions::default()).unwrap();
        let containers = ContainersFile::read(root().join("infra/containers.json")).unwrap();
        endpoint.provision("tributary", &containers).await.unwrap();
        let server = endpoint.serve(0).await.unwrap();
        let mut settings = Settings::read(&root().join("local.settings.json.example")).unwrap();
        settings.set_connection("CosmosConnection", &server.connection_string());
        for (name, value) in more {
            settings.set(*name, *value);
        }
        let app = FunctionApp::load(app, &settings).unwrap();
        assert!(app.warnings().is_empty(), "{:?}", app.warnings());
        let console = Console::kept();
        let options = HostOptions { console: console.clone(), ..options };
        let host = Host::start(app, &settings, options).await.unwrap();
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { host, endpoint, console, client, _server: server }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], Value::Null).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call("PUT", path, &[], body.clone()).await
    }

    /// Sends a request with these headers, and with a body unless it is null.
    pub(crate) async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers.iter().chain(&[("content-type", "application/json")]) {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        self.send(request.body(body).unwrap()).await.unwrap()
    }

    /// Sends a request; `None` when its client cannot.
    pub(crate) async fn send(&self, mut request: Request<Body>) -> Option<Answer> {
        let url = format!("{}{}", self.host.url(), request.uri());
        *request.uri_mut() = url.parse().ok()?;
        let (parts, body) = self.client.request(request).await.ok()?.map(Body::new).into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        Some(Answer { status: parts.status, headers: parts.headers, text })
    }

    /// Sends the head of a request, waits whether an answer comes too early, and then sends the
    /// body. Gives the text of the answer.
    pub(crate) async fn send_slowly(&self, head: &str, body: &[u8]) -> String {
        let address = self.host.url().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "{head}\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let (first, rest) = body.split_at(body.len() / 2);
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(first).await.unwrap();
        let mut answer = Vec::new();
        let early = timeout(Duration::from_millis(50), stream.read_buf(&mut answer)).await;
        if early.is_err() {
            stream.write_all(rest).await.unwrap();
        }
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8(answer).unwrap()
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the handler's executable.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_tributary")).parent().unwrap().to_owned()
}
