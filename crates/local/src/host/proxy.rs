//! Hands a request through to the handler: method, path, query, headers and body unchanged.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};

use super::console::Console;
use super::invoke::HandlerClient;
use super::process::HandlerWatch;
use super::wire;

/// How long the handler may take until it begins to answer.
const ACTIVITY_TIMEOUT: Duration = Duration::from_mins(4);

/// These belong to one connection and are not handed on (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Runs an HTTP function by handing its request to the handler, bodies streamed both ways.
pub(super) async fn forward(
    function: &str,
    request: Request,
    handler: &HandlerWatch,
    client: &HandlerClient,
    console: &Console,
) -> Response {
    let id = uuid::Uuid::new_v4().to_string();
    let started = Instant::now();
    // The query is left out: it can hold a key.
    let what = format!("{} {}", request.method(), request.uri().path());
    let (response, ok, note) = match exchange(request, &id, handler, client).await {
        Ok(response) => {
            let note = format!("{what} → {}", response.status().as_u16());
            (response, true, note)
        }
        Err((status, reason)) => {
            let note = format!("{what} → {}: {reason}", status.as_u16());
            (status.into_response(), false, note)
        }
    };
    console.executed(function, ok, &id, started.elapsed(), &note);
    response
}

async fn exchange(
    request: Request,
    id: &str,
    handler: &HandlerWatch,
    client: &HandlerClient,
) -> Result<Response, (StatusCode, String)> {
    let bad_gateway = |reason: String| (StatusCode::BAD_GATEWAY, reason);
    let url = handler.url().await.map_err(|error| bad_gateway(error.to_string()))?;
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let target: Uri =
        format!("{url}{path}").parse().map_err(|_| bad_gateway("not a URL".to_owned()))?;
    // HTTP/2 names the host in the URL; the handler speaks HTTP/1.1 and expects the header.
    if !parts.headers.contains_key(header::HOST)
        && let Some(authority) = parts.uri.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        parts.headers.insert(header::HOST, host);
    }
    remove_hop_by_hop(&mut parts.headers);
    if let Ok(id) = HeaderValue::from_str(id) {
        parts.headers.insert(HeaderName::from_static(wire::INVOCATION_ID), id);
    }
    parts.uri = target;
    parts.version = axum::http::Version::HTTP_11;
    let request = Request::from_parts(parts, body);
    match tokio::time::timeout(ACTIVITY_TIMEOUT, client.request(request)).await {
        Err(_) => Err((
            StatusCode::GATEWAY_TIMEOUT,
            format!("no answer within {} s", ACTIVITY_TIMEOUT.as_secs()),
        )),
        Ok(Err(error)) => Err(bad_gateway(format!("the handler did not answer: {error}"))),
        Ok(Ok(response)) => {
            let (mut parts, body) = response.into_parts();
            remove_hop_by_hop(&mut parts.headers);
            parts.version = axum::http::Version::default();
            Ok(Response::from_parts(parts, Body::new(body)))
        }
    }
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
}
