//! Conversion of an HTTP request into a request to the store, and of its answer.

use std::{panic::AssertUnwindSafe, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderName, HeaderValue, Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use azure_core::http::{Method, Request as CoreRequest, Url};
use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use http_body_util::BodyExt;

use super::{authorization, backend::Response as StoreResponse, store::EndpointStore};

/// The largest body that is accepted, in bytes: an item or a batch has at most 2 MB
/// (<https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits>), and the
/// store refuses those above that itself.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The number of bytes of a larger body that are read before the answer: a client that is still sending
/// would otherwise see a reset connection in place of the 413.
const MAX_DISCARDED_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone)]
struct Gateway {
    store: Arc<EndpointStore>,
    /// The address that the account tells clients, with a trailing slash.
    advertised: Arc<str>,
}

pub(super) fn router(store: Arc<EndpointStore>, advertised: String) -> Router {
    Router::new().fallback(answer).with_state(Gateway { store, advertised: advertised.into() })
}

async fn answer(State(gateway): State<Gateway>, request: Request<Body>) -> Response {
    let core = match gateway.accept(request).await {
        Ok(core) => core,
        Err(refusal) => return refusal,
    };
    let is_account = core.url().path() == "/";
    // A panic of the emulator must not look like a lost connection to the client.
    let executed = AssertUnwindSafe(gateway.store.execute(core)).catch_unwind().await;
    match executed {
        Ok(Ok(response)) if is_account => gateway.account(response),
        Ok(Ok(response)) => into_http(response),
        Ok(Err(error)) => refuse(StatusCode::BAD_REQUEST, "BadRequest", &error.to_string()),
        Err(_) => refuse(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalServerError",
            "the in-memory emulator failed on this request; the log has the reason",
        ),
    }
}

impl Gateway {
    async fn accept(&self, request: Request<Body>) -> Result<CoreRequest, Response> {
        let (parts, body) = request.into_parts();
        if let Err(reason) = authorization::check(&parts.method, parts.uri.path(), &parts.headers) {
            return Err(refuse(StatusCode::UNAUTHORIZED, "Unauthorized", reason));
        }
        let Ok(method) = parts.method.as_str().parse::<Method>() else {
            return Err(refuse(
                StatusCode::METHOD_NOT_ALLOWED,
                "MethodNotAllowed",
                "The requested verb is not supported.",
            ));
        };
        // HTTP/2 requests carry an absolute URI, whose host the store does not know.
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let base = self.store.base_url().as_str().trim_end_matches('/');
        let Ok(url) = Url::parse(&format!("{base}{path}")) else {
            return Err(refuse(
                StatusCode::BAD_REQUEST,
                "BadRequest",
                "The path of the request is malformed.",
            ));
        };

        let mut core = CoreRequest::new(url, method);
        for (name, value) in &parts.headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            core.insert_header(name.as_str().to_owned(), value);
        }
        let body = read_bounded(body).await?;
        if !body.is_empty() {
            core.set_body(body);
        }
        Ok(core)
    }

    /// Replaces the store's address in the account's properties by that of this server.
    fn account(&self, mut response: StoreResponse) -> Response {
        let text = String::from_utf8_lossy(&response.body)
            .replace(self.store.base_url().as_str(), &self.advertised);
        response.body = Bytes::from(text);
        into_http(response)
    }
}

async fn read_bounded(mut body: Body) -> Result<Bytes, Response> {
    let mut read = BytesMut::new();
    let mut n_bytes = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            refuse(
                StatusCode::BAD_REQUEST,
                "BadRequest",
                &format!("The body of the request ended early: {error}"),
            )
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        n_bytes += data.len();
        if n_bytes <= MAX_BODY_BYTES {
            read.extend_from_slice(&data);
        } else if n_bytes > MAX_DISCARDED_BYTES {
            break;
        }
    }
    if n_bytes > MAX_BODY_BYTES {
        return Err(refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLarge",
            "Request size is too large",
        ));
    }
    Ok(read.freeze())
}

fn into_http(response: StoreResponse) -> Response {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut http = (status, response.body).into_response();
    for (name, value) in response.headers.iter() {
        if let (Ok(name), Ok(value)) =
            (HeaderName::try_from(name.as_str()), HeaderValue::from_str(value.as_str()))
        {
            http.headers_mut().insert(name, value);
        }
    }
    http
}

/// Returns an error in the form of the service.
fn refuse(status: StatusCode, code: &str, message: &str) -> Response {
    let body = serde_json::json!({ "code": code, "message": message });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (status, headers, body.to_string()).into_response()
}
