//! JSON bodies, read within a limit and checked by the type in the handler's signature.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody},
    extract::{FromRequest, Request},
    http::{HeaderMap, Method, header},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use super::{ApiError, Form, FromForm, raw_json::is_object};

pub(super) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// The longest time for a body to arrive, since its request holds reserved memory.
const MAX_ARRIVAL_TIME: Duration = Duration::from_secs(30);

/// A JSON body that has passed all checks of `T`, and has at most so many bytes.
pub struct JsonBody<T, const LIMIT: usize = MAX_BODY_BYTES>(pub T);

impl<S: Sync, T: FromForm, const LIMIT: usize> FromRequest<S> for JsonBody<T, LIMIT> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(ApiError::UnsupportedMediaType);
        }
        let bytes = read(request.into_body(), LIMIT).await?;
        let is_object = is_object(&bytes).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            ApiError::Malformed(format!("The body is not JSON: line {line}, column {column}."))
        })?;
        if !is_object {
            return Err(ApiError::Malformed("The body must be a JSON object.".into()));
        }
        // JSON is UTF-8.
        let text = str::from_utf8(&bytes).unwrap_or_default();
        let mut form = Form::new(text);
        T::from_form(&mut form).map(Self).ok_or_else(|| ApiError::Invalid(form.into_errors()))
    }
}

/// Returns true if the body of a request has yet to arrive, and a handler may take it. A body that will be
/// refused unread is not awaited.
pub(super) fn is_awaited(request: &Request, limit: usize) -> bool {
    matches!(*request.method(), Method::POST | Method::PUT)
        && is_json(request.headers())
        && !request.body().is_end_stream()
        && request.body().size_hint().lower() <= limit as u64
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()) else {
        return false;
    };
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

pub(super) async fn read(body: Body, limit: usize) -> Result<bytes::Bytes, ApiError> {
    // A body with too large a length is refused unread.
    if body.size_hint().lower() > limit as u64 {
        return Err(ApiError::TooLarge { limit });
    }
    match timeout(MAX_ARRIVAL_TIME, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ApiError::TooLarge { limit }),
        Ok(Err(_)) => Err(ApiError::Malformed("The body is incomplete. Send it again.".into())),
        Err(_) => Err(ApiError::Malformed(format!(
            "The body did not arrive within {} seconds.",
            MAX_ARRIVAL_TIME.as_secs()
        ))),
    }
}
