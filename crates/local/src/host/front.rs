//! The host's port: the HTTP functions, a page at `/`, and `/admin`.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version, header};
use axum::response::{IntoResponse, Response};
use cosmos_store::http::callers::{Stranger, stranger};
use tokio_util::sync::CancellationToken;

use super::admin::{self, HostedFunction};
use super::app::FunctionApp;
use super::function::AuthLevel;
use super::invoke::{HandlerClient, Invoker};
use super::process::HandlerWatch;
use super::request_body::drain;
use super::request_path;
use super::server::HostOptions;
use super::settings::LocalOptions;
use crate::chaos::ChaosKind;

pub(super) struct Front {
    pub(super) app: FunctionApp,
    pub(super) handlers: Vec<HandlerWatch>,
    pub(super) n_serving: usize,
    pub(super) client: HandlerClient,
    pub(super) invoker: Arc<dyn Invoker>,
    pub(super) options: HostOptions,
    pub(super) local: LocalOptions,
    pub(super) body_limit: u64,
    pub(super) instance_id: String,
    pub(super) started: Instant,
    pub(super) stop: CancellationToken,
}

/// The number of bytes that `/admin/functions/<name>` takes at most.
const MAX_ADMIN_BODY_BYTES: usize = 100 * 1024 * 1024;

/// The longest request line: method, target and version.
const MAX_LINE_BYTES: usize = 8 * 1024;

/// The most bytes of all headers: their names, their values, and four bytes for each line.
const MAX_HEADER_BYTES: usize = 32 * 1024;

impl Front {
    /// Returns the handler of a request: if instances overlap, sometimes the second one.
    pub(super) fn handler(&self) -> &HandlerWatch {
        let chaos = self.options.chaos.as_ref();
        let overlaps = chaos.is_some_and(|chaos| chaos.roll(ChaosKind::Overlap).is_some());
        &self.handlers[usize::from(overlaps) % self.n_serving]
    }

    /// Returns the highest level that a request opens: without keys, every level.
    fn level(&self, request: &Request) -> AuthLevel {
        let level = |keys: &Keys| keys.level(request.headers(), request.uri());
        self.options.keys.as_ref().map_or(AuthLevel::Admin, level)
    }

    async fn admin(&self, what: &str, request: Request) -> Response {
        let is_run = what.strip_prefix("local/").unwrap_or(what).starts_with("functions/");
        let others = ["host/status", "local/events", "local/functions", "local/openapi"];
        if !is_run && !others.contains(&what) {
            return StatusCode::NOT_FOUND.into_response();
        }
        match self.level(&request) {
            AuthLevel::Anonymous => {
                let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
                return (StatusCode::UNAUTHORIZED, challenge).into_response();
            }
            AuthLevel::Function => return StatusCode::FORBIDDEN.into_response(),
            AuthLevel::Admin => {}
        }
        match what {
            "host/status" => Json(admin::status(&self.instance_id, self.started)).into_response(),
            "local/events" => self.options.console.events.answer(self.stop.clone()),
            "local/functions" => {
                let functions = self.app.functions().iter().map(HostedFunction::new);
                Json(functions.collect::<Vec<_>>()).into_response()
            }
            // The OpenAPI document, or null.
            "local/openapi" => Json(self.openapi().await).into_response(),
            _ => self.run(what, request).await.unwrap_or_else(IntoResponse::into_response),
        }
    }

    /// Runs the function of `functions/<name>`. `local/functions/<name>` waits for its end.
    async fn run(&self, what: &str, request: Request) -> Result<Response, (StatusCode, String)> {
        let refused = |status| (status, String::new());
        let (waits, path) = what.strip_prefix("local/").map_or((false, what), |path| (true, path));
        let name = path.strip_prefix("functions/");
        let function = name.and_then(|name| self.app.function(name)).cloned();
        let function = function.ok_or(refused(StatusCode::NOT_FOUND))?;
        if request.method() != Method::POST {
            return Err(refused(StatusCode::METHOD_NOT_ALLOWED));
        }
        let body = to_bytes(request.into_body(), MAX_ADMIN_BODY_BYTES).await;
        let body = body.map_err(|_| refused(StatusCode::PAYLOAD_TOO_LARGE))?;
        let body = admin::manual_body(&function, &body)
            .map_err(|reason| (StatusCode::BAD_REQUEST, reason))?;
        let (invoker, console) = (self.invoker.clone(), self.options.console.clone());
        let run = async move { admin::run(&function, body, invoker.as_ref(), &console).await };
        if waits {
            return Ok(Json(run.await).into_response());
        }
        tokio::spawn(run);
        Ok(StatusCode::ACCEPTED.into_response())
    }

    pub(super) async fn answer(State(front): State<Arc<Self>>, request: Request) -> Response {
        let version = request.version();
        let accepted = accepted(&request);
        let is_refused = accepted.is_err() && version < Version::HTTP_2;
        let mut response = match accepted {
            Ok(path) => front.for_pages(request, &path).await,
            Err(status) => refused(request, status),
        };
        if is_refused || version < Version::HTTP_11 {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Answers a request of a page of another site as the CORS middleware of Core Tools does.
    async fn for_pages(&self, request: Request, path: &str) -> Response {
        let cors = self.local.cors_headers(request.headers());
        let asks = request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if request.method() == Method::OPTIONS && asks && !cors.is_empty() {
            drain(request.into_body());
            return (StatusCode::NO_CONTENT, cors).into_response();
        }
        let mut response = self.dispatched(request, path).await;
        for (name, value) in &cors {
            response.headers_mut().append(name, value.clone());
        }
        response
    }

    async fn dispatched(&self, mut request: Request, path: &str) -> Response {
        let HostOptions { allowed_hosts, console, .. } = &self.options;
        let (uri, headers) = (request.uri(), request.headers());
        if let Some(stranger) = stranger(uri, headers, allowed_hosts, &self.local.cors) {
            let reason = refusal(stranger);
            console.warn(&format!("{} {path} → 403: {reason}", request.method()));
            drain(request.into_body());
            return (StatusCode::FORBIDDEN, reason).into_response();
        }
        normalise(&mut request, path);
        if let Some(what) = path.strip_prefix("/admin/") {
            return self.admin(what, request).await;
        }
        match self.app.route(request.method(), path) {
            // A CONNECT names no path.
            None if path == "/" && request.method() != Method::CONNECT => {
                if self.app.has_homepage {
                    list(&self.app).into_response()
                } else {
                    StatusCode::NO_CONTENT.into_response()
                }
            }
            None => refused(request, StatusCode::NOT_FOUND),
            // The route stays, so the request reaches no other function.
            Some((function, _)) if self.app.disabled().contains(&function.name) => {
                refused(request, StatusCode::NOT_FOUND)
            }
            Some((_, http)) if self.level(&request) < http.auth_level => {
                refused(request, StatusCode::UNAUTHORIZED)
            }
            Some((function, _)) => self.forward(&function.name, request).await,
        }
    }
}

/// Refuses a request without its body.
fn refused(request: Request, status: StatusCode) -> Response {
    drain(request.into_body());
    status.into_response()
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
    let lines = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    if lines.sum::<usize>() > MAX_HEADER_BYTES {
        return Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }
    let is_http_1 = version <= Version::HTTP_11;
    let expected = headers.get(header::EXPECT).map(HeaderValue::as_bytes);
    if !expected.is_none_or(|value| value.eq_ignore_ascii_case(b"100-continue")) {
        return Err(StatusCode::EXPECTATION_FAILED);
    }
    let is_valid = headers.values().all(|value| value.as_bytes().is_ascii())
        && request_path::is_valid(request.method(), uri, version, headers);
    if is_http_1 && !is_valid {
        return Err(StatusCode::BAD_REQUEST);
    }
    if !uri.path().is_ascii() || !uri.query().unwrap_or_default().is_ascii() {
        return Err(StatusCode::BAD_REQUEST);
    }
    request_path::decoded(uri.path()).ok_or(StatusCode::BAD_REQUEST)
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

/// Returns the page at `/` of an app that has none.
fn list(app: &FunctionApp) -> String {
    let functions = app.functions().iter();
    let lines = functions.map(|function| format!("{}: {}\n", function.name, function.address("")));
    let lines: String = lines.collect();
    format!(
        "The function app is running. No function answers at /. These are its functions:\n\n{lines}"
    )
}

fn refusal(stranger: Stranger<'_>) -> String {
    match stranger {
        Stranger::Host(host) => format!(
            "This port is for this machine, and the request is for {host}. Call 127.0.0.1, or start with \
             --allow-host {host}"
        ),
        Stranger::Page(site) => format!(
            "A page of {site} may not call this port. If it is yours, add its address to Host.CORS in \
             local.settings.json"
        ),
    }
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
    fn level(&self, headers: &HeaderMap, uri: &Uri) -> AuthLevel {
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
