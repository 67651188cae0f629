//! Errors as problem documents (RFC 9457): the one place that turns errors into statuses.

use std::convert::Infallible;

use axum::{
    Json,
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use azure_data_cosmos::CosmosError;
use schemars::JsonSchema;
use serde::Serialize;

use crate::audit::Obstacle;
use crate::brand::brand;
use crate::cosmos::{Reason, Retryable, StoreError, Unconfirmed};

/// Seconds that a caller should wait before it retries after a 429 or 503.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// The header of every 401 (RFC 9110): a caller that is no browser signs in with a token of the identity
/// provider.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer");

const MAX_INVOCATION_ID_CHARACTERS: usize = 100;

/// The reason why a request was not carried out. Its text is the instruction for the caller, but for errors of the
/// store, whose text is for the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// 400: the body is no JSON object, or is incomplete.
    #[error("{0}")]
    Malformed(String),
    /// 400: fields, path or query parameters with bad values.
    #[error("Some values are not valid. `errors` names each field and its rule.")]
    Invalid(Vec<FieldError>),
    /// 401: the caller is not signed in. The sentence says what to do.
    #[error("{0}")]
    Unauthorized(&'static str),
    /// 403: the caller is signed in, and may not do this. The sentence says why.
    #[error("{0}")]
    Forbidden(&'static str),
    /// 404: the named item does not exist.
    #[error("This {0} does not exist.")]
    NotFound(&'static str),
    /// 404: the app has nothing of this name; a sentence that lists the names.
    #[error("{0}")]
    UnknownName(String),
    /// 405: the route has other methods.
    #[error("This route does not have this method. Use one of those in `Allow`.")]
    MethodNotAllowed,
    /// 409: the request conflicts with the stored state. The sentence says how.
    #[error("{0}")]
    Conflict(&'static str),
    /// 409: other items refer to the item. The sentence says how many.
    #[error("{0}")]
    InUse(String),
    /// 412: a condition of the caller does not hold.
    #[error(
        "The condition in If-Match or If-None-Match failed: the item has another state. Read the item, then retry with its ETag."
    )]
    PreconditionFailed,
    /// 412: the function takes no conditions.
    #[error(
        "This function takes no conditions, and did nothing. Send the request without If-Match and If-None-Match."
    )]
    ConditionNotTaken,
    /// 413: the body is larger than the limit.
    #[error("The body is larger than {} MiB. Send a smaller one.", .limit / 1024 / 1024)]
    TooLarge {
        /// The most bytes of the body.
        limit: usize,
    },
    /// 415: the body is not JSON.
    #[error("Send the body as JSON with the header `Content-Type: application/json`.")]
    UnsupportedMediaType,
    /// 415: the body has a coding.
    #[error("Send the body as it is, without `Content-Encoding`.")]
    UnsupportedEncoding,
    /// 500: a bug of the app.
    #[error("The server failed to process this request, and logged the error.")]
    Internal,
    /// A decision to write nothing, on a state that may be old. [`crate::cosmos::retry`] decides again on
    /// the latest state, so no caller sees this error.
    #[error("a decision on a state that may be old")]
    Unconfirmed,
    /// 503: this instance has reached its limit of concurrent requests.
    #[error(
        "This instance has reached its limit of concurrent requests. Retry after the seconds in `Retry-After`."
    )]
    Overloaded,
    /// A problem of one domain.
    #[error("{}", .0.detail)]
    Domain(&'static DomainProblem),
    /// An error of the store: 429, 503 or, for a bug, 500.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A problem of one domain, beside those of every HTTP API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainProblem {
    /// The status. A 429 or 503 gets the header `Retry-After`.
    pub status: StatusCode,
    /// The last part of the problem's type, such as `removal-pending`.
    pub slug: &'static str,
    /// The title, the same for every problem of the type.
    pub title: &'static str,
    /// A sentence that says what to do.
    pub detail: &'static str,
}

/// The error of one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldError {
    /// The field's name in the body, the path or the query string.
    #[schemars(example = &"limit")]
    pub field: String,
    /// The rule, such as "must be …".
    #[schemars(example = "must be a whole number from 1 to 100")]
    pub message: String,
}

pub(crate) async fn no_such_route() -> ApiError {
    ApiError::NotFound("route")
}

/// Returns the error of a method that the route does not have; axum adds `Allow`.
pub(crate) async fn method_not_allowed() -> ApiError {
    ApiError::MethodNotAllowed
}

impl ApiError {
    /// Creates the error of one field with a bad value.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { field: field.into(), message: message.into() }])
    }
}

/// An error of the SDK, such as a query parameter that cannot be written as JSON.
impl From<CosmosError> for ApiError {
    fn from(error: CosmosError) -> Self {
        Self::Store(error.into())
    }
}

/// The reason of a refusal that never comes.
impl From<Infallible> for ApiError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<Unconfirmed> for ApiError {
    fn from(_: Unconfirmed) -> Self {
        Self::Unconfirmed
    }
}

impl Retryable for ApiError {
    /// Returns true for a lost race, and for an unanswered store request: a command recognises its own
    /// writes when it retries.
    fn is_retryable(&self) -> bool {
        self.store_error().is_some_and(|error| error.is_race() || error.is_unanswered())
    }

    /// Returns true for a refusal that follows from a read. The store itself refuses by its latest state.
    fn may_be_stale(&self) -> bool {
        matches!(
            self,
            Self::NotFound(_)
                | Self::Conflict(_)
                | Self::PreconditionFailed
                | Self::Forbidden(_)
                | Self::Unconfirmed
        )
    }

    fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// A refusal that is not the store's own follows from a newer state.
impl From<ApiError> for Obstacle {
    fn from(error: ApiError) -> Self {
        if let ApiError::Store(error) = error { error.into() } else { Self::Race }
    }
}

/// A problem document (RFC 9457): the body of an error.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Problem {
    /// A URN that names the kind of problem.
    #[schemars(example = problem_type("validation"))]
    r#type: String,
    /// The title, the same for every problem of the kind.
    #[schemars(example = "Validation failed")]
    title: &'static str,
    #[schemars(example = 400)]
    status: u16,
    /// The instruction for the caller.
    #[schemars(example = "Some values are not valid. `errors` names each field and its rule.")]
    detail: String,
    /// The bad fields of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// The id of the log lines of the request.
    #[schemars(example = "019ae5b2-7c1f-7d2a-9f0e-3b6d5a4c2e10")]
    #[serde(skip_serializing_if = "Option::is_none")]
    invocation_id: Option<String>,
}

impl ApiError {
    /// Returns the status and the detail: for an answer with several outcomes.
    pub fn status_and_detail(&self) -> (StatusCode, String) {
        let (status, _, _, detail) = self.parts();
        (status, detail)
    }

    fn parts(&self) -> Parts {
        use StatusCode as S;
        let (status, slug, title) = match self {
            Self::Malformed(_) => (S::BAD_REQUEST, "malformed-body", "Malformed body"),
            Self::Invalid(_) => (S::BAD_REQUEST, "validation", "Validation failed"),
            Self::Unauthorized(_) => (S::UNAUTHORIZED, "unauthorized", "Unauthorized"),
            Self::Forbidden(_) => (S::FORBIDDEN, "forbidden", "Forbidden"),
            Self::NotFound(_) | Self::UnknownName(_) => (S::NOT_FOUND, "not-found", "Not found"),
            Self::MethodNotAllowed => {
                (S::METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed")
            }
            Self::Conflict(_) => (S::CONFLICT, "conflict", "Conflict"),
            Self::InUse(_) => (S::CONFLICT, "in-use", "In use"),
            Self::PreconditionFailed | Self::ConditionNotTaken => {
                (S::PRECONDITION_FAILED, "precondition-failed", "Precondition failed")
            }
            Self::TooLarge { .. } => (S::PAYLOAD_TOO_LARGE, "body-too-large", "Body too large"),
            Self::UnsupportedMediaType => {
                (S::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported media type")
            }
            Self::UnsupportedEncoding => {
                (S::UNSUPPORTED_MEDIA_TYPE, "unsupported-encoding", "Unsupported content coding")
            }
            Self::Overloaded => {
                tracing::warn!("Refused a request: the limit of concurrent requests is reached");
                (S::SERVICE_UNAVAILABLE, "overloaded", "Too many requests at a time")
            }
            Self::Domain(problem) => (problem.status, problem.slug, problem.title),
            Self::Internal | Self::Unconfirmed => return internal(),
            Self::Store(error) => return store_problem(error),
        };
        (status, slug, title, self.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        use StatusCode as S;
        let parts = self.parts();
        let status = parts.0;
        let is_coded = matches!(self, Self::UnsupportedEncoding);
        let errors = if let Self::Invalid(errors) = self { errors } else { Vec::new() };
        let problem = Problem { errors, ..Problem::from(parts) };
        let mut response = (status, Json(problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if is_coded {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        if status == S::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, CHALLENGE);
        }
        if matches!(status, S::TOO_MANY_REQUESTS | S::SERVICE_UNAVAILABLE) {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}

fn problem_type(slug: &str) -> String {
    format!("urn:{}:problem:{slug}", brand().name)
}

/// Status, slug, title and detail of a problem.
type Parts = (StatusCode, &'static str, &'static str, String);

impl From<Parts> for Problem {
    fn from((status, slug, title, detail): Parts) -> Self {
        let (r#type, status) = (problem_type(slug), status.as_u16());
        Self { r#type, title, status, detail, errors: Vec::new(), invocation_id: None }
    }
}

fn internal() -> Parts {
    let detail = ApiError::Internal.to_string();
    (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error", detail)
}

/// Returns the body of a 500 with the id under which the log has its cause.
pub(super) fn internal_error_body(invocation_id: &str) -> Body {
    let id = invocation_id.chars().take(MAX_INVOCATION_ID_CHARACTERS).collect();
    let problem = Problem { invocation_id: Some(id), ..Problem::from(internal()) };
    serde_json::to_vec(&problem).unwrap_or_default().into()
}

/// Returns the problem of a store error. The cause is logged: callers must not see it.
fn store_problem(error: &StoreError) -> Parts {
    use std::error::Error;
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    match error.reason {
        Reason::Throttled => {
            tracing::warn!(cause, "The store is out of request units");
            (
                StatusCode::TOO_MANY_REQUESTS,
                "throttled",
                "Too many requests",
                "The store throttles requests. Retry after the seconds in `Retry-After`.".into(),
            )
        }
        Reason::TooLarge => (
            StatusCode::PAYLOAD_TOO_LARGE,
            "item-too-large",
            "Item too large",
            "The item would be larger than 2 MB, the limit of the store. Send less text.".into(),
        ),
        Reason::PartitionFull => {
            tracing::error!(cause, "A logical partition is full: 20 GB (service limit)");
            (
                StatusCode::INSUFFICIENT_STORAGE,
                "partition-full",
                "Partition full",
                "The logical partition of this item has reached the store's limit of 20 GB. Delete some of its items, then retry."
                    .into(),
            )
        }
        Reason::BudgetSpent => {
            tracing::warn!(
                "Ended a request that reached its limit of store requests, request units or time"
            );
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "budget-spent",
                "Budget spent",
                "This request reached its limit of store requests, request units or time. Ask for less, or retry after the seconds in `Retry-After`."
                    .into(),
            )
        }
        Reason::Unreadable | Reason::Unexpected => {
            tracing::error!(cause, reason = %error.reason, "The store returned an unexpected error");
            internal()
        }
        // A race that was lost in all attempts is as good as an unavailable store.
        reason => {
            tracing::warn!(?reason, cause, "The store is unavailable");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "Service unavailable",
                "The store is unavailable. Retry after the seconds in `Retry-After`.".into(),
            )
        }
    }
}
