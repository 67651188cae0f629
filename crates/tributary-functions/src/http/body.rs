//! JSON bodies, within a limit and checked by the type in the handler's signature.

use std::{error::Error, time::Duration};

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use super::{ApiError, Form, FromForm, raw_json::is_object};

pub(super) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// The longest time for a body to arrive. The Functions host asks for 240 bytes a second only, at which 1 MiB
/// takes an hour; callers on a slow line send a few megabytes in this time.
pub(super) const MAX_ARRIVAL_TIME: Duration = Duration::from_secs(30);

/// The most bytes of a body that no handler takes: more than the Functions host passes on.
const MAX_DISCARDED_BYTES: usize = 256 * 1024 * 1024;

/// A JSON body that has passed all checks of `T`, and has at most so many bytes.
pub struct JsonBody<T, const LIMIT: usize = MAX_BODY_BYTES>(pub T);

impl<S: Sync, T: FromForm, const LIMIT: usize> FromRequest<S> for JsonBody<T, LIMIT> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(ApiError::UnsupportedMediaType);
        }
        let body = Limited::new(request.into_body(), LIMIT).collect().await;
        let bytes = body.map_err(|error| broken(&*error, LIMIT))?.to_bytes();
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

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()) else {
        return false;
    };
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// Reads a body that no handler takes.
pub(super) async fn discard(body: Body) -> Result<(), ApiError> {
    let mut body = Limited::new(body, MAX_DISCARDED_BYTES);
    while let Some(frame) = body.frame().await {
        frame.map_err(|error| broken(&*error, MAX_DISCARDED_BYTES))?;
    }
    Ok(())
}

/// Bounds the time in which a body is read.
pub(super) async fn in_arrival_time<T>(
    time: Duration,
    read: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    timeout(time, read).await.unwrap_or_else(|_| {
        let seconds = time.as_secs();
        Err(ApiError::Malformed(format!("The body did not arrive within {seconds} seconds.")))
    })
}

/// Returns the error of a body that could not be read.
pub(super) fn broken(error: &(dyn Error + 'static), limit: usize) -> ApiError {
    if error.is::<LengthLimitError>() {
        ApiError::TooLarge { limit }
    } else {
        ApiError::Malformed("The body is incomplete. Send it again.".into())
    }
}
