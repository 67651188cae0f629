//! HTTP functions: the application's own router, in a span and safe from panics.

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tower::ServiceExt;
use tracing::{Instrument, Span};

use crate::{TraceContext, invocation, logs, panics};

pub(crate) struct HttpFunctions {
    router: Router,
}

/// The flag in the extensions of a response of a route, not of the router's fallback.
#[derive(Clone, Copy)]
pub(crate) struct MatchedRoute;

impl HttpFunctions {
    pub(crate) fn new(router: Router) -> Self {
        // `route_layer` panics on a router without routes.
        if !router.has_routes() {
            return Self { router };
        }
        Self { router: router.route_layer(middleware::from_fn(matched)) }
    }

    pub(crate) async fn call(&self, request: Request) -> Response {
        let span = logs::request_span(
            invocation::id_header(request.headers()),
            request.method(),
            TraceContext::from_headers(request.headers()).as_ref(),
        );
        let router = self.router.clone();
        async {
            match panics::catch(router.oneshot(request)).await {
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
