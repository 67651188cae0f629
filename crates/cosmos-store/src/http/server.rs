//! The server: HTTP/1.1, and HTTP/2 with prior knowledge, on one port.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::State,
    response::Response,
    serve::{Listener, ListenerExt as _},
};
use bytes::{Bytes, BytesMut};
use futures::{FutureExt as _, future::BoxFuture};
use http::{HeaderValue, Request};
use http_body_util::BodyExt as _;
use tokio::{
    net::TcpListener,
    sync::oneshot::{self, Receiver},
    task::JoinHandle,
    time::timeout,
};

use super::{Options, answer::Answer, authorization, callers, tls::Tls};
use crate::{Refusal, Result};

/// The largest body that is accepted, in bytes: an item or a batch has at most 2 MB, and the store refuses those above
/// that itself (<https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits>).
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The bytes of a larger body that are read before the answer: a client that is still sending would otherwise see a
/// reset connection in place of the 413.
const MAX_DISCARDED_BYTES: usize = 64 * 1024 * 1024;

/// The time that requests under way have to end when the server stops.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    certificate: Option<String>,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
    pub(super) read_region: Option<Box<Server>>,
}

impl Server {
    /// Returns the address of the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the account's address, such as `http://127.0.0.1:8081/`.
    pub fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/", self.address)
    }

    /// Returns the certificate that clients have to trust, in PEM, if the port is encrypted.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Returns the server of the second region, if there is one ([`Options::read_region_lag`]).
    pub fn read_region(&self) -> Option<&Self> {
        self.read_region.as_deref()
    }

    /// Stops listening, gives requests under way two seconds to end, and closes the connections.
    pub async fn stop(self) {
        let Self { shutdown, mut task, read_region, .. } = self;
        drop((shutdown, read_region));
        if timeout(STOP_GRACE, &mut task).await.is_err() {
            task.abort();
        }
    }
}

/// What answers the requests of a port.
pub(super) type Handler =
    Box<dyn Fn(Request<Bytes>) -> BoxFuture<'static, http::Response<Bytes>> + Send + Sync>;

struct Gateway {
    options: Arc<Options>,
    answer: Handler,
}

/// Serves requests on a port until the returned server is stopped or dropped; 0 takes a free port. What answers gets
/// only requests for this machine whose signature is right.
///
/// # Errors
/// When the port is taken, or may not be opened.
pub async fn serve<A, F>(to: SocketAddr, options: Arc<Options>, answer: A) -> io::Result<Server>
where
    A: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = http::Response<Bytes>> + Send + 'static,
{
    let listener = TcpListener::bind(to).await?;
    let tls = Tls::of(&options)?;
    listen(listener, tls.as_ref(), options, Box::new(move |request| answer(request).boxed()))
}

/// Serves requests on an open port, as [`serve`].
pub(super) fn listen(
    listener: TcpListener,
    tls: Option<&Tls>,
    options: Arc<Options>,
    answer: Handler,
) -> io::Result<Server> {
    let address = listener.local_addr()?;
    let router = Router::new().fallback(respond).with_state(Arc::new(Gateway { options, answer }));
    let (shutdown, stopped) = oneshot::channel::<()>();
    let task = if let Some(tls) = tls {
        tokio::spawn(run(tls.listener(listener), router, stopped))
    } else {
        // Small answers would otherwise wait for the client's delayed acknowledgement.
        let listener = listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY cannot be set");
            }
        });
        tokio::spawn(run(listener, router, stopped))
    };
    let certificate = tls.map(|tls| tls.certificate.clone());
    Ok(Server { address, certificate, shutdown, task, read_region: None })
}

/// Serves until the sender of `stopped` is dropped; it is never used.
async fn run(listener: impl Listener<Addr = SocketAddr>, router: Router, stopped: Receiver<()>) {
    let stopped = stopped.map(|_| ());
    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stopped).await {
        tracing::error!(%error, "the store's server stopped");
    }
}

async fn respond(State(gateway): State<Arc<Gateway>>, request: Request<Body>) -> Response {
    let (mut parts, body) = request.into_parts();
    if gateway.options.https {
        // The account names the address by which the caller came.
        parts.headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
    }
    let mut request = Request::from_parts(parts, Bytes::new());
    let read = match check(&request, &gateway.options) {
        Ok(()) => read_bounded(body).await,
        Err(refusal) => Err(refusal),
    };
    let response = match read {
        Ok(body) => {
            *request.body_mut() = body;
            (gateway.answer)(request).await
        }
        Err(refusal) => Answer::refusal(&refusal).into_response(&request),
    };
    response.map(Body::from)
}

/// Checks the caller of a request, and its signature.
pub(super) fn check(request: &Request<Bytes>, options: &Options) -> Result<()> {
    callers::check(request, &options.allowed_hosts)?;
    match &options.key {
        Some(key) => authorization::check(request, key),
        None => Ok(()),
    }
}

async fn read_bounded(mut body: Body) -> Result<Bytes> {
    let mut read = BytesMut::new();
    let mut n_bytes = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Refusal::new(400, format!("The body of the request ended early: {error}"))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        n_bytes = n_bytes.saturating_add(data.len());
        if n_bytes <= MAX_BODY_BYTES {
            read.extend_from_slice(&data);
        } else if n_bytes > MAX_DISCARDED_BYTES {
            break;
        }
    }
    if n_bytes > MAX_BODY_BYTES {
        return Err(Refusal::new(413, "Request size is too large"));
    }
    Ok(read.freeze())
}
