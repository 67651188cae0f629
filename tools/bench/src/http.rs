//! A connection to the handler that is kept open as the Functions host does.

use std::net::SocketAddr;

use http::HeaderName;
use tributary_local::client::{Call, Client, Reply};

const INVOCATION: HeaderName = HeaderName::from_static("x-azure-functions-invocationid");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
/// A trace in the host's form; it adds two fields to each log line.
const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// A client with a connection of its own, which opens at the first request.
pub(crate) struct Connection(Client);

impl Connection {
    /// Creates a client of the handler at this address.
    pub(crate) fn new(address: SocketAddr) -> anyhow::Result<Self> {
        Ok(Self(Client::new(&format!("http://{address}"))?))
    }

    /// Sends a request with an id for its invocation, and reads the whole answer.
    pub(crate) async fn send(&self, call: &Call, id: &str) -> anyhow::Result<Reply> {
        let call = call.clone().header(INVOCATION, id).header(TRACE_PARENT, TRACE);
        self.0.send(&call).await
    }
}
