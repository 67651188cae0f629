//! The dispatch of a request to a trigger, the HTTP functions, or the readiness probe.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;
use tower::ServiceExt;
use tracing::{Instrument, Span};

use crate::builder::is_function_name;
use crate::trigger::Trigger;
use crate::{TraceContext, early, invocation, invoke, logs};

struct DispatchApp {
    http: Router,
    http_names: HashSet<String>,
    has_page: bool,
    triggers: HashMap<String, Trigger>,
    /// None if the HTTP functions have not been named.
    functions: Option<HeaderValue>,
}

/// For a host on a developer's machine, which compares the functions of this app with its folders.
const FUNCTIONS_HEADER: HeaderName = HeaderName::from_static("x-custom-handler-functions");

pub(crate) fn router(
    http: Router,
    http_names: Vec<String>,
    has_page: bool,
    triggers: Vec<(String, Trigger)>,
) -> Router {
    let triggers: HashMap<_, _> = triggers.into_iter().collect();
    let names: BTreeSet<&str> =
        http_names.iter().chain(triggers.keys()).map(String::as_str).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(",");
    let app = DispatchApp {
        functions: HeaderValue::try_from(names).ok().filter(|_| !http_names.is_empty()),
        // `route_layer` panics on a router without routes.
        http: if http.has_routes() { http.route_layer(middleware::from_fn(matched)) } else { http },
        http_names: http_names.into_iter().collect(),
        has_page,
        triggers,
    };
    // One fallback instead of routes: every request but a trigger's own `POST` goes unchanged to the HTTP
    // functions, with any method and path, and so do their 404 and 405.
    Router::new().fallback(dispatch).with_state(Arc::new(app))
}

async fn dispatch(State(app): State<Arc<DispatchApp>>, request: Request) -> Response {
    let end = Instant::now() + early::MAX_DISCARD_TIME;
    early::answer(request, end, |request| answer(app, request)).await
}

async fn answer(app: Arc<DispatchApp>, request: Request) -> Response {
    let is_probe = is_probe(&request);
    let called = called_function(&request).map(str::to_owned);
    let from_outside = came_through_the_proxy(&request);
    if let Some((name, trigger)) = called.as_ref().and_then(|name| app.triggers.get_key_value(name))
    {
        if from_outside {
            return StatusCode::FORBIDDEN.into_response();
        }
        return invoke::invoke(name, trigger, request).await;
    }

    if is_probe && app.has_page && !from_outside {
        return ready(&app);
    }
    let response = call(app.http.clone(), request).await;
    if response.extensions().get::<MatchedRoute>().is_some() {
        return response;
    }
    if is_probe {
        return ready(&app);
    }
    match called.filter(|_| !from_outside) {
        Some(name) if app.http_names.contains(&name) => host_too_old(&name),
        Some(name) => unknown_function(&name, response),
        None => response,
    }
}

fn ready(app: &DispatchApp) -> Response {
    let mut ready = "The function app is ready.\n".into_response();
    if let Some(functions) = &app.functions {
        ready.headers_mut().insert(FUNCTIONS_HEADER, functions.clone());
    }
    ready
}

/// Returns true for the readiness probe: the host sends `GET /` every 25 ms until the app answers.
fn is_probe(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && request.uri().path() == "/"
}

fn called_function(request: &Request) -> Option<&str> {
    let name = request.uri().path().strip_prefix('/')?;
    (request.method() == Method::POST && is_function_name(name)).then_some(name)
}

/// The host's proxy sets this header on every request, and the host's own invocations never have it.
fn came_through_the_proxy(request: &Request) -> bool {
    request.headers().contains_key("x-forwarded-for")
}

fn host_too_old(name: &str) -> Response {
    const REASON: &str = "The Functions host called an HTTP function as it calls a trigger: it is too \
                          old for `enableProxyingHttpRequest`. Use host 4.1041 or newer, or Core \
                          Tools 4.2.2 or newer.";
    tracing::error!(function = name, "{REASON}");
    (StatusCode::NOT_IMPLEMENTED, format!("{REASON}\n")).into_response()
}

/// A fallback may answer 200 (a page for every path), which the host would take for a success of the function.
fn unknown_function(name: &str, fallback: Response) -> Response {
    let reason = format!(
        "No trigger named `{name}` is registered: register it with `CustomHandler::trigger`, or \
         remove the folder with its function.json.\n"
    );
    tracing::warn!(function = name, "a function was called that is not registered");
    if fallback.status().is_success() {
        (StatusCode::NOT_FOUND, reason).into_response()
    } else {
        fallback
    }
}

#[derive(Clone, Copy)]
struct MatchedRoute;

async fn call(router: Router, request: Request) -> Response {
    let span = logs::request_span(
        invocation::id_header(request.headers()),
        request.method(),
        TraceContext::from_headers(request.headers()).as_ref(),
    );
    async {
        match invoke::catch(router.oneshot(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(panic) => {
                tracing::error!(%panic, "an HTTP function panicked");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
    .instrument(span)
    .await
}

/// Records the route in the span: the template, since a path has ids.
async fn matched(route: Option<MatchedPath>, request: Request, next: Next) -> Response {
    if let Some(route) = route {
        Span::current().record("route", route.as_str());
    }
    let mut response = next.run(request).await;
    response.extensions_mut().insert(MatchedRoute);
    response
}
