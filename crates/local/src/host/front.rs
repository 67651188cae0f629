//! The host's port: the HTTP functions, a page at `/`, and `/admin`.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::Json;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version, header};
use axum::response::{Html, IntoResponse as _, Response};
use axum::serve::Listener;
use custom_handler::answer_after_body;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::admin::{self, HostStatus, HostedFunction, ManualRun};
use super::app::FunctionApp;
use super::console::Console;
use super::function::{AuthLevel, Function, FunctionTrigger};
use super::invoke::{HandlerClient, Invoker};
use super::json::ConfigError;
use super::process::HandlerWatch;
use super::proxy::Proxy;
use super::request_path;
use super::routes::RouteTable;
use super::server::{self, HostOptions};
use crate::chaos::{Chaos, ChaosKind};

/// The service on the host's port.
pub(super) struct Front {
    app: FunctionApp,
    routes: RouteTable<HttpTarget>,
    handlers: Vec<HandlerWatch>,
    client: HandlerClient,
    invoker: Arc<dyn Invoker>,
    keys: Option<Keys>,
    console: Console,
    chaos: Option<Chaos>,
    status: HostStatus,
    stop: CancellationToken,
}

/// A path below `/admin/`.
enum AdminRoute<'a> {
    Status,
    /// Starts a function.
    Run(&'a str),
    /// Starts a function and waits for its end.
    RunAndWait(&'a str),
    Functions,
    /// The OpenAPI document, or null.
    OpenApi,
    Events,
}

impl<'a> AdminRoute<'a> {
    fn of(path: &'a str) -> Option<Self> {
        match path.split_once('/')? {
            ("functions", name) => Some(Self::Run(name)),
            ("host", "status") => Some(Self::Status),
            ("local", "events") => Some(Self::Events),
            ("local", "openapi") => Some(Self::OpenApi),
            ("local", "functions") => Some(Self::Functions),
            ("local", rest) => rest.strip_prefix("functions/").map(Self::RunAndWait),
            _ => None,
        }
    }
}

struct HttpTarget {
    function: String,
    auth_level: AuthLevel,
    /// True if a setting disables the function.
    is_closed: bool,
}

/// The number of bytes that `/admin/functions/<name>` takes at most.
const MAX_ADMIN_BODY_BYTES: usize = 100 * 1024 * 1024;

/// The longest request line: method, target and version.
const MAX_LINE_BYTES: usize = 8 * 1024;

impl Front {
    pub(super) fn new(
        app: FunctionApp,
        handlers: Vec<HandlerWatch>,
        client: HandlerClient,
        invoker: Arc<dyn Invoker>,
        options: HostOptions,
        stop: CancellationToken,
    ) -> Result<Self, ConfigError> {
        let mut routes = RouteTable::default();
        let open = app.functions().iter().map(|function| (function, false));
        let closed = app.closed().iter().map(|function| (function, true));
        for (Function { name, trigger, .. }, is_closed) in open.chain(closed) {
            if let FunctionTrigger::Http(http) = trigger {
                let template = app.host().template(&http.route)?;
                let function = name.clone();
                let auth_level = http.auth_level;
                let target = HttpTarget { function, auth_level, is_closed };
                routes.insert(name, template, http.methods.clone(), target);
            }
        }
        let HostOptions { keys, console, chaos, .. } = options;
        let status = HostStatus::new();
        Ok(Self { app, routes, handlers, client, invoker, keys, console, chaos, status, stop })
    }

    /// Returns the handler of a request: if instances overlap, sometimes the second one.
    fn handler(&self) -> &HandlerWatch {
        let overlaps =
            self.chaos.as_ref().is_some_and(|chaos| chaos.roll(ChaosKind::Overlap).is_some());
        &self.handlers[usize::from(overlaps) % self.handlers.len()]
    }

    /// Returns the highest level that a request opens: without keys, every level.
    fn level(&self, request: &Request) -> AuthLevel {
        let level = |keys: &Keys| keys.level(request.headers(), request.uri());
        self.keys.as_ref().map_or(AuthLevel::Admin, level)
    }

    /// Answers `/admin/<what>`.
    async fn admin(&self, what: &str, request: Request) -> Response {
        let Some(route) = AdminRoute::of(what) else {
            return StatusCode::NOT_FOUND.into_response();
        };
        match self.level(&request) {
            AuthLevel::Anonymous => {
                let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
                return (StatusCode::UNAUTHORIZED, challenge).into_response();
            }
            AuthLevel::Function => return empty(StatusCode::FORBIDDEN),
            AuthLevel::Admin => {}
        }
        match route {
            AdminRoute::Status => self.status.answer(),
            AdminRoute::Run(name) => {
                let run = self.manual_run(name, request).await;
                run.map(|run| run.start(self.invoker.clone(), self.console.clone())).into_response()
            }
            AdminRoute::RunAndWait(name) => match self.manual_run(name, request).await {
                Ok(run) => {
                    let run = admin::run(run, self.invoker.as_ref(), &self.console);
                    Json(run.await).into_response()
                }
                Err(refusal) => refusal.into_response(),
            },
            AdminRoute::Functions => Json(HostedFunction::all(&self.app)).into_response(),
            AdminRoute::OpenApi => match self.handler().url().await {
                Ok(url) => {
                    Json(server::openapi(&self.client, &url, &self.app).await).into_response()
                }
                Err(_) => empty(StatusCode::SERVICE_UNAVAILABLE),
            },
            AdminRoute::Events => self.console.events().answer(self.stop.clone()),
        }
    }

    async fn manual_run(
        &self,
        name: &str,
        request: Request,
    ) -> Result<ManualRun, (StatusCode, String)> {
        let refused = |status| (status, String::new());
        let function = self.app.function(name).ok_or(refused(StatusCode::NOT_FOUND))?;
        if request.method() != Method::POST {
            return Err(refused(StatusCode::METHOD_NOT_ALLOWED));
        }
        let body = to_bytes(request.into_body(), MAX_ADMIN_BODY_BYTES).await;
        admin::read(function, &body.map_err(|_| refused(StatusCode::PAYLOAD_TOO_LARGE))?)
    }

    fn homepage(&self) -> Response {
        if self.app.has_homepage() {
            Html(html(&self.app)).into_response()
        } else {
            StatusCode::NO_CONTENT.into_response()
        }
    }
}

/// Answers a request. Like the host, it reads the body to its end before it answers.
pub(super) async fn serve(State(front): State<Arc<Front>>, request: Request) -> Response {
    answer_after_body(request, |request| answer(front, request)).await
}

async fn answer(front: Arc<Front>, request: Request) -> Response {
    let version = request.version();
    let mut response = match accepted(&request) {
        Ok(path) => dispatched(front, request, &path).await,
        Err(status) => refused(status, version),
    };
    if version < Version::HTTP_11 {
        close(&mut response);
    }
    response
}

async fn dispatched(front: Arc<Front>, mut request: Request, path: &str) -> Response {
    normalise(&mut request, path);
    if let Some(what) = path.strip_prefix("/admin/") {
        return front.admin(what, request).await;
    }
    let Some(target) = front.routes.find(request.method(), path) else {
        // A CONNECT names no path.
        let is_root = path == "/" && request.method() != Method::CONNECT;
        return if is_root { front.homepage() } else { empty(StatusCode::NOT_FOUND) };
    };
    // The route stays, so the request reaches no other function.
    if target.is_closed {
        return empty(StatusCode::NOT_FOUND);
    }
    if front.level(&request) < target.auth_level {
        return empty(StatusCode::UNAUTHORIZED);
    }
    let Front { client, console, chaos, .. } = &*front;
    let proxy = Proxy { handler: front.handler(), client, console, chaos: chaos.as_ref() };
    proxy.forward(&target.function, request).await
}

fn empty(status: StatusCode) -> Response {
    (status, Body::empty()).into_response()
}

/// Returns the decoded path of a request, or the status with which the host refuses it before it looks
/// for a function.
fn accepted(request: &Request) -> Result<String, StatusCode> {
    let uri = request.uri();
    let n_bytes = request.method().as_str().len() + uri.to_string().len() + " HTTP/1.1\r\n".len();
    if n_bytes > MAX_LINE_BYTES {
        return Err(StatusCode::URI_TOO_LONG);
    }
    let version = request.version();
    let headers = request.headers();
    let is_http_1 = version <= Version::HTTP_11;
    if is_http_1 && !request_path::is_valid(request.method(), uri, version, headers) {
        return Err(StatusCode::BAD_REQUEST);
    }
    if !uri.path().is_ascii() || !uri.query().unwrap_or_default().is_ascii() {
        return Err(StatusCode::BAD_REQUEST);
    }
    // Recorded for a GET of HTTP/1.0, the only version that does not need a host.
    if is_http_1 && !headers.contains_key(header::HOST) && request.body().is_end_stream() {
        return Err(StatusCode::INTERNAL_SERVER_ERROR);
    }
    request_path::decoded(uri.path()).map_err(|_| StatusCode::BAD_REQUEST)
}

/// Returns a refusal, after which the host closes the connection.
fn refused(status: StatusCode, version: Version) -> Response {
    let mut response = empty(status);
    if version < Version::HTTP_2 {
        close(&mut response);
    }
    response
}

/// Closes the connection after the answer.
fn close(response: &mut Response) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// Writes method, path and query as the host's proxy does.
fn normalise(request: &mut Request, path: &str) {
    let method = request.method().as_str().to_ascii_uppercase();
    if STANDARD_METHODS.contains(&method.as_str())
        && let Ok(method) = method.parse()
    {
        *request.method_mut() = method;
    }
    let mut target = request_path::encoded(path);
    if let Some(query) = request.uri().query() {
        target = format!("{target}?{}", request_path::encoded_query(query));
    }
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(target).ok().or(parts.path_and_query);
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

/// Methods that are accepted in lower case too.
const STANDARD_METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// Returns the page.
pub(super) fn html(app: &FunctionApp) -> String {
    let mut rows = String::new();
    for function in app.functions() {
        let what = match &function.trigger {
            FunctionTrigger::Http(http) => {
                let methods: Vec<_> = http.methods.iter().map(Method::as_str).collect();
                let route = format!("/{}", escaped(&app.host().full_route(&http.route)));
                let is_link = methods.contains(&"GET") && !route.contains('{');
                let address =
                    if is_link { format!("<a href=\"{route}\">{route}</a>") } else { route };
                format!("{} {address}", methods.join(", "))
            }
            FunctionTrigger::Cosmos(trigger) => {
                format!("after changes of {}", escaped(&trigger.container))
            }
            FunctionTrigger::Timer(timer) => format!("at {}", escaped(timer.schedule.as_str())),
        };
        // A write to a text never fails.
        let _ = writeln!(rows, "<tr><th scope=\"row\">{}<td>{what}", escaped(&function.name));
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>cargo local</title>\n\
         <style>body {{ font: 16px system-ui; margin: 2em }} th {{ text-align: left; padding-right: 1em }} \
         :root {{ color-scheme: light dark }}</style>\n\
         <h1>The function app is running</h1>\n\
         <p>No function of it answers at <code>/</code>. These are its functions:\n<table>\n{rows}</table>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The keys that callers need under `--enable-auth`.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// Opens functions with `authLevel` `function`.
    pub function: String,
    /// Opens everything, also `admin`.
    pub master: String,
}

impl Keys {
    /// Creates random keys.
    pub fn generate() -> Self {
        let key = || format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        Self { function: key(), master: key() }
    }

    /// Returns the highest level that the key of a request opens. The header wins over `?code=`.
    pub fn level(&self, headers: &HeaderMap, uri: &Uri) -> AuthLevel {
        let header = headers.get("x-functions-key").map(|value| value.to_str().unwrap_or_default());
        let key = header.or_else(|| code(uri)).unwrap_or_default();
        if key == self.master {
            AuthLevel::Admin
        } else if key == self.function {
            AuthLevel::Function
        } else {
            AuthLevel::Anonymous
        }
    }
}

/// Keys are printed once, at the start, and nowhere else.
impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Keys(…)")
    }
}

/// Returns the `code` of the query; keys are hexadecimal, so it has no escapes.
fn code(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case("code").then_some(value)
    })
}

const HTTP_1_0: &[u8] = b"HTTP/1.0";
const HTTP_1_1: &[u8] = b"HTTP/1.1";

/// A listener whose connections answer in HTTP/1.1, also a request of HTTP/1.0.
///
/// Kestrel answers so. hyper answers in the version of the request, and always writes the status line
/// first. The connection of such a request is closed after its answer, so each connection has at most
/// one such line, and it is the first.
pub(super) struct HostListener(pub(super) TcpListener);

impl Listener for HostListener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        (Connection { stream, version: FirstVersion::Unknown }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection that replaces the version of its first answer.
pub(super) struct Connection {
    stream: TcpStream,
    version: FirstVersion,
}

/// The state of the first answer's version.
#[derive(Clone, Copy)]
enum FirstVersion {
    /// No byte was written yet.
    Unknown,
    /// The version is replaced, and this number of its bytes was written.
    Replaced(usize),
    /// It was written.
    Written,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let FirstVersion::Unknown = self.version {
            let is_old = bytes.starts_with(HTTP_1_0);
            self.version = if is_old { FirstVersion::Replaced(0) } else { FirstVersion::Written };
        }
        let FirstVersion::Replaced(n_written) = self.version else {
            return Pin::new(&mut self.stream).poll_write(context, bytes);
        };
        let rest = HTTP_1_1.get(n_written..).unwrap_or_default();
        let n_more = ready!(Pin::new(&mut self.stream).poll_write(context, rest))?;
        let n_written = n_written + n_more;
        let is_done = n_written == HTTP_1_1.len();
        self.version =
            if is_done { FirstVersion::Written } else { FirstVersion::Replaced(n_written) };
        Poll::Ready(Ok(n_more))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
