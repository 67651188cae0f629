//! What answers on the host's port: the HTTP functions, a page at `/`, and `/admin`.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Method, StatusCode, Uri, Version, header};
use axum::response::{Html, IntoResponse as _, Response};
use custom_handler::answer_after_body;

use super::admin;
use super::app::FunctionApp;
use super::console::Console;
use super::function::{AuthLevel, Function, Trigger};
use super::invoke::{HandlerClient, Invoker};
use super::json::ConfigError;
use super::keys::Keys;
use super::process::HandlerWatch;
use super::proxy::Proxy;
use super::request_path;
use super::routes::RouteTable;
use super::server::HostOptions;
use crate::chaos::{Chaos, Kind};

/// What answers on the host's port.
pub(super) struct Front {
    app: FunctionApp,
    routes: RouteTable<HttpTarget>,
    handlers: Vec<HandlerWatch>,
    client: HandlerClient,
    invoker: Arc<dyn Invoker>,
    keys: Option<Keys>,
    console: Console,
    chaos: Option<Chaos>,
}

struct HttpTarget {
    function: String,
    auth_level: AuthLevel,
    /// A setting turns the function off.
    is_closed: bool,
}

/// The most that `/admin/functions/<name>` takes.
const ADMIN_BODY_LIMIT: usize = 100 * 1024 * 1024;

/// The longest request line: method, target and version.
const MOST_LINE_BYTES: usize = 8 * 1024;

impl Front {
    pub(super) fn new(
        app: FunctionApp,
        handlers: Vec<HandlerWatch>,
        client: HandlerClient,
        invoker: Arc<dyn Invoker>,
        options: HostOptions,
    ) -> Result<Self, ConfigError> {
        let mut routes = RouteTable::default();
        let open = app.functions().iter().map(|function| (function, false));
        let closed = app.closed().iter().map(|function| (function, true));
        for (Function { name, trigger, .. }, is_closed) in open.chain(closed) {
            if let Trigger::Http(http) = trigger {
                let template = app.host().template(&http.route)?;
                let (function, auth_level) = (name.clone(), http.auth_level);
                let target = HttpTarget { function, auth_level, is_closed };
                routes.insert(name, template, http.methods.clone(), target);
            }
        }
        let HostOptions { keys, console, chaos, .. } = options;
        Ok(Self { app, routes, handlers, client, invoker, keys, console, chaos })
    }

    /// The handler that answers a request: when instances overlap, now and then the other one.
    fn handler(&self) -> &HandlerWatch {
        let overlaps = self.chaos.as_ref().is_some_and(|chaos| chaos.roll(Kind::Overlap).is_some());
        &self.handlers[usize::from(overlaps) % self.handlers.len()]
    }

    fn allows(&self, level: AuthLevel, request: &Request) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.allow(level, request.headers(), request.uri()))
    }

    /// `/admin/<what>`.
    async fn admin(&self, what: &str, request: Request) -> Response {
        let function = match what.split_once('/') {
            Some(("functions", name)) => Some(name),
            Some(("host", "status")) => None,
            _ => return StatusCode::NOT_FOUND.into_response(),
        };
        if !self.allows(AuthLevel::Admin, &request) {
            let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
            return (StatusCode::UNAUTHORIZED, challenge).into_response();
        }
        match function {
            Some(name) => self.run_by_hand(name, request).await,
            None => Json(serde_json::json!({ "state": "Running" })).into_response(),
        }
    }

    async fn run_by_hand(&self, name: &str, request: Request) -> Response {
        let Some(function) = self.app.function(name) else {
            return StatusCode::NOT_FOUND.into_response();
        };
        if request.method() != Method::POST {
            return StatusCode::METHOD_NOT_ALLOWED.into_response();
        }
        let Ok(body) = to_bytes(request.into_body(), ADMIN_BODY_LIMIT).await else {
            return StatusCode::PAYLOAD_TOO_LARGE.into_response();
        };
        admin::run(function, &body, self.invoker.clone(), self.console.clone()).into_response()
    }

    fn homepage(&self) -> Response {
        if self.app.has_homepage() {
            Html("<!DOCTYPE html><title>cargo local</title><p>The function app is running.</p>\n")
                .into_response()
        } else {
            StatusCode::NO_CONTENT.into_response()
        }
    }
}

/// The host, too, reads a body to its end before it answers.
pub(super) async fn serve(State(front): State<Arc<Front>>, request: Request) -> Response {
    answer_after_body(request, |request| answer(front, request)).await
}

async fn answer(front: Arc<Front>, mut request: Request) -> Response {
    let path = match accepted(&request) {
        Ok(path) => path,
        Err(status) => return refused(status, request.version()),
    };
    normalise(&mut request, &path);
    if let Some(what) = path.strip_prefix("/admin/") {
        return front.admin(what, request).await;
    }
    let Some(target) = front.routes.find(request.method(), &path) else {
        // A CONNECT names no path.
        let is_root = path == "/" && request.method() != Method::CONNECT;
        return if is_root { front.homepage() } else { empty(StatusCode::NOT_FOUND) };
    };
    // The route stays, so no other function takes the request.
    if target.is_closed {
        return empty(StatusCode::NOT_FOUND);
    }
    if !front.allows(target.auth_level, &request) {
        return empty(StatusCode::UNAUTHORIZED);
    }
    let Front { client, console, chaos, .. } = &*front;
    let proxy = Proxy { handler: front.handler(), client, console, chaos: chaos.as_ref() };
    proxy.forward(&target.function, request).await
}

fn empty(status: StatusCode) -> Response {
    (status, Body::empty()).into_response()
}

/// The decoded path of a request, or the status with which the host refuses it before it looks for a
/// function.
fn accepted(request: &Request) -> Result<String, StatusCode> {
    let uri = request.uri();
    let n_bytes = request.method().as_str().len() + uri.to_string().len() + " HTTP/1.1\r\n".len();
    if n_bytes > MOST_LINE_BYTES {
        return Err(StatusCode::URI_TOO_LONG);
    }
    // The proxy does not know that version.
    if request.version() < Version::HTTP_11 {
        return Err(StatusCode::INTERNAL_SERVER_ERROR);
    }
    if request.version() == Version::HTTP_11 && !request.headers().contains_key(header::HOST) {
        return Err(StatusCode::BAD_REQUEST);
    }
    request_path::decoded(uri.path()).map_err(|_| StatusCode::BAD_REQUEST)
}

/// A refusal, after which the host closes the connection.
fn refused(status: StatusCode, version: Version) -> Response {
    let mut response = empty(status);
    if version < Version::HTTP_2 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Writes method and path as the host's proxy does.
fn normalise(request: &mut Request, path: &str) {
    let method = request.method().as_str().to_ascii_uppercase();
    if STANDARD_METHODS.contains(&method.as_str())
        && let Ok(method) = method.parse()
    {
        *request.method_mut() = method;
    }
    let mut target = request_path::encoded(path);
    if let Some(query) = request.uri().query() {
        target = format!("{target}?{query}");
    }
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(target).ok().or(parts.path_and_query);
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

/// Small letters will do for these.
const STANDARD_METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
