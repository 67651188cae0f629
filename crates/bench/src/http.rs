//! One connection to the handler, kept open as the Functions host keeps its own.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderName, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

const CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");
const INVOCATION: HeaderName = HeaderName::from_static("x-azure-functions-invocationid");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
/// A trace as the host sends one; it puts two fields on each log line.
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// A request of the API.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    method: Method,
    path: String,
    body: Bytes,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    /// Request units, as the handler tells them.
    pub(crate) charge: f64,
    /// The place of what was created.
    pub(crate) location: Option<String>,
    /// The size of the body.
    pub(crate) bytes: usize,
}

impl Call {
    /// A request without a body.
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), body: Bytes::new() }
    }

    /// A query.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Whether it creates a comment.
    pub(crate) fn is_comment(&self) -> bool {
        self.method == Method::POST && self.path.ends_with("/comments")
    }

    /// The same with a body.
    pub(crate) fn json(self, body: &serde_json::Value) -> Self {
        Self { body: body.to_string().into(), ..self }
    }
}

/// An open connection.
pub(crate) struct Connection(SendRequest<Full<Bytes>>);

impl Connection {
    /// Connects; the error is that of the socket, for a handler that does not listen yet.
    pub(crate) async fn open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(std::io::Error::other)?;
        // It ends with the sender; what went wrong is the error of the request that met it.
        tokio::spawn(connection);
        Ok(Self(sender))
    }

    /// Sends a request with an id for its invocation, and reads the whole answer.
    pub(crate) async fn send(&mut self, call: &Call, id: &str) -> anyhow::Result<Reply> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(&call.path)
            .header(header::HOST, "127.0.0.1")
            .header(INVOCATION, id)
            .header(TRACE_PARENT, TRACE);
        if !call.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(call.body.clone()))?;
        self.0.ready().await?;
        let (answer, mut body) = self.0.send_request(request).await?.into_parts();
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            bytes += frame?.data_ref().map_or(0, Bytes::len);
        }
        let text = |name| answer.headers.get(name).and_then(|value| value.to_str().ok());
        Ok(Reply {
            status: answer.status,
            charge: text(&CHARGE).and_then(|charge| charge.parse().ok()).unwrap_or_default(),
            location: text(&header::LOCATION).map(str::to_owned),
            bytes,
        })
    }
}
