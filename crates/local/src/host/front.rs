//! What answers on the host's port: the HTTP functions and `/admin/functions`.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
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
}

/// The most that `/admin/functions/<name>` takes.
const ADMIN_BODY_LIMIT: usize = 100 * 1024 * 1024;

impl Front {
    pub(super) fn new(
        app: FunctionApp,
        handlers: Vec<HandlerWatch>,
        client: HandlerClient,
        invoker: Arc<dyn Invoker>,
        options: HostOptions,
    ) -> Result<Self, ConfigError> {
        let mut routes = RouteTable::default();
        for Function { name, trigger, .. } in app.functions() {
            if let Trigger::Http(http) = trigger {
                let template = app.host().template(&http.route)?;
                let target = HttpTarget { function: name.clone(), auth_level: http.auth_level };
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

    async fn admin(&self, name: &str, request: Request) -> Response {
        if !self.allows(AuthLevel::Admin, &request) {
            return StatusCode::UNAUTHORIZED.into_response();
        }
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
}

/// The host, too, reads a body to its end before it answers.
pub(super) async fn serve(State(front): State<Arc<Front>>, request: Request) -> Response {
    answer_after_body(request, |request| answer(front, request)).await
}

async fn answer(front: Arc<Front>, request: Request) -> Response {
    if let Some(name) = request.uri().path().strip_prefix("/admin/functions/") {
        let name = name.to_owned();
        return front.admin(&name, request).await;
    }
    let Some(target) = front.routes.find(request.method(), request.uri().path()) else {
        return (StatusCode::NOT_FOUND, Body::empty()).into_response();
    };
    if !front.allows(target.auth_level, &request) {
        return (StatusCode::UNAUTHORIZED, Body::empty()).into_response();
    }
    let Front { client, console, chaos, .. } = &*front;
    let proxy = Proxy { handler: front.handler(), client, console, chaos: chaos.as_ref() };
    proxy.forward(&target.function, request).await
}
