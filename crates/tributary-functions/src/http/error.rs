//! Errors and their answers: the one place that turns errors into statuses. The body is a problem document
//! (RFC 9457), or the app's own [`ErrorBody`].

use std::convert::Infallible;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use azure_data_cosmos::CosmosError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::CpuBoundError;
use crate::audit::Obstacle;
use crate::brand::brand;
use crate::cosmos::{Reason, Retryable, StoreError, decides_on_latest};

/// Seconds that a caller should wait before it retries after a 429 or 503.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// The header of every 401 (RFC 9110): a caller that is no browser signs in with a token.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer");

const MAX_INVOCATION_ID_CHARACTERS: usize = 100;

/// The reason why a request was not carried out. Its text is an instruction for the caller, but for an error of the
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
    /// 409: another item has the value of the named property, which is unique.
    #[error("Another item has this {0}. Choose another one.")]
    Taken(&'static str),
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
    /// A decision to write nothing, on a state that may be old: [`crate::cosmos::retry`] decides again.
    #[error("a decision on a state that may be old")]
    Unconfirmed,
    /// 503: this instance has reached its limit of concurrent requests.
    #[error(
        "This instance has reached its limit of concurrent requests. Retry after the seconds in `Retry-After`."
    )]
    Overloaded,
    /// A refusal of one domain.
    #[error("{}", .0.detail)]
    Domain(Box<Refusal>),
    /// An error of the store: 429, 503 or, for a bug, 500.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The parts of a refusal, from which an [`ErrorBody`] is made.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The status. A 429 or 503 gets the header `Retry-After`, a 401 `WWW-Authenticate`.
    pub status: StatusCode,
    /// The name of its kind, such as `validation`.
    pub slug: &'static str,
    /// The title, the same for every refusal of the kind.
    pub title: &'static str,
    /// A sentence that says what to do.
    pub detail: String,
    /// The bad fields of the request, or the property whose value is taken.
    pub errors: Vec<FieldError>,
    /// The word for what does not exist, such as `recipe`.
    pub noun: Option<&'static str>,
    /// The id of the log lines of the request, if the host gave one.
    pub invocation_id: Option<String>,
}

impl Refusal {
    /// Creates a refusal of one domain, beside those of every HTTP API. `?` turns it into an [`ApiError`].
    pub fn new(
        status: StatusCode,
        slug: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        let (detail, errors) = (detail.into(), Vec::new());
        Self { status, slug, title, detail, errors, noun: None, invocation_id: None }
    }
}

/// The body of every refusal that the handler gives, set with [`Program::errors`](crate::program::Program::errors).
pub trait ErrorBody: From<Refusal> + Serialize + JsonSchema {
    /// The media type.
    const CONTENT_TYPE: &'static str = "application/json";

    /// Returns the status of a refusal, by its status and slug: an app may answer 422 for `validation`.
    fn status(refusal: &Refusal) -> StatusCode {
        refusal.status
    }
}

/// An [`ErrorBody`] as a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorForm {
    pub content_type: &'static str,
    pub status: fn(&Refusal) -> StatusCode,
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    body: fn(Refusal) -> Vec<u8>,
}

impl ErrorForm {
    pub(crate) fn of<E: ErrorBody>() -> Self {
        Self {
            content_type: E::CONTENT_TYPE,
            status: E::status,
            schema: SchemaGenerator::subschema_for::<E>,
            body: |refusal| serde_json::to_vec(&E::from(refusal)).unwrap_or_default(),
        }
    }

    /// Writes the body of a refusal into its answer. A 500 of another origin is a bug, too.
    pub(super) fn write(self, response: &mut Response, invocation_id: Option<String>) {
        let is_bug = response.status() == StatusCode::INTERNAL_SERVER_ERROR;
        let refusal = response.extensions_mut().remove();
        let Some(mut refusal) = refusal.or_else(|| is_bug.then(internal)) else { return };
        refusal.invocation_id =
            invocation_id.map(|id| id.chars().take(MAX_INVOCATION_ID_CHARACTERS).collect());
        *response.status_mut() = (self.status)(&refusal);
        let content_type = HeaderValue::from_static(self.content_type);
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        *response.body_mut() = (self.body)(refusal).into();
    }
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

/// Work that could not be done is a bug.
impl From<CpuBoundError> for ApiError {
    fn from(_: CpuBoundError) -> Self {
        Self::Internal
    }
}

/// The reason of a refusal that never comes.
impl From<Infallible> for ApiError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self::Domain(Box::new(refusal))
    }
}

/// Refuses a decision to write nothing unless it was made on the latest state, as the next attempt's is.
pub fn check_confirmed() -> Result<(), ApiError> {
    if decides_on_latest() { Ok(()) } else { Err(ApiError::Unconfirmed) }
}

impl Retryable for ApiError {
    /// Returns true for a refusal that follows from a read. The store itself refuses by its latest state.
    fn may_be_stale(&self) -> bool {
        matches!(
            self,
            Self::NotFound(_)
                | Self::Conflict(_)
                | Self::Taken(_)
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

impl ErrorBody for Problem {
    const CONTENT_TYPE: &'static str = "application/problem+json";
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let Refusal { status, slug, title, detail, errors, invocation_id, .. } = refusal;
        // The log has a cause of bugs alone.
        let invocation_id = invocation_id.filter(|_| status == StatusCode::INTERNAL_SERVER_ERROR);
        let (r#type, status) = (problem_type(slug), status.as_u16());
        Self { r#type, title, status, detail, errors, invocation_id }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        use ApiError as E;
        use StatusCode as S;
        let (status, slug, title) = match &error {
            E::Malformed(_) => (S::BAD_REQUEST, "malformed-body", "Malformed body"),
            E::Invalid(_) => (S::BAD_REQUEST, "validation", "Validation failed"),
            E::Unauthorized(_) => (S::UNAUTHORIZED, "unauthorized", "Unauthorized"),
            E::Forbidden(_) => (S::FORBIDDEN, "forbidden", "Forbidden"),
            E::NotFound(_) | E::UnknownName(_) => (S::NOT_FOUND, "not-found", "Not found"),
            E::MethodNotAllowed => {
                (S::METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed")
            }
            E::Conflict(_) => (S::CONFLICT, "conflict", "Conflict"),
            E::Taken(_) => (S::CONFLICT, "taken", "Taken"),
            E::InUse(_) => (S::CONFLICT, "in-use", "In use"),
            E::PreconditionFailed | E::ConditionNotTaken => {
                (S::PRECONDITION_FAILED, "precondition-failed", "Precondition failed")
            }
            E::TooLarge { .. } => (S::PAYLOAD_TOO_LARGE, "body-too-large", "Body too large"),
            E::UnsupportedMediaType => {
                (S::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported media type")
            }
            E::UnsupportedEncoding => {
                (S::UNSUPPORTED_MEDIA_TYPE, "unsupported-encoding", "Unsupported content coding")
            }
            E::Overloaded => {
                tracing::warn!("Refused a request: the limit of concurrent requests is reached");
                (S::SERVICE_UNAVAILABLE, "overloaded", "Too many requests at a time")
            }
            E::Domain(refusal) => return (**refusal).clone(),
            E::Internal | E::Unconfirmed => return internal(),
            E::Store(error) => return store_refusal(error),
        };
        let refusal = Self::new(status, slug, title, error.to_string());
        match error {
            E::Invalid(errors) => Self { errors, ..refusal },
            E::NotFound(noun) => Self { noun: Some(noun), ..refusal },
            E::Taken(property) => {
                let message = "is taken: choose another one".to_owned();
                Self { errors: vec![FieldError { field: property.to_owned(), message }], ..refusal }
            }
            _ => refusal,
        }
    }
}

/// Returns the answer without its body, which the outermost layer of the app writes.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        use StatusCode as S;
        let is_coded = matches!(self, Self::UnsupportedEncoding);
        let refusal = Refusal::from(self);
        let status = refusal.status;
        let mut response = status.into_response();
        response.extensions_mut().insert(refusal);
        let headers = response.headers_mut();
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

fn internal() -> Refusal {
    let detail = ApiError::Internal.to_string();
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error", detail)
}

/// Returns the refusal of a store error. The cause is logged: callers must not see it.
fn store_refusal(error: &StoreError) -> Refusal {
    use std::error::Error;
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    let (status, slug, title, detail) = match error.reason {
        Reason::Throttled => {
            tracing::warn!(cause, "The store is out of request units");
            let detail = "The store throttles requests. Retry after the seconds in `Retry-After`.";
            (StatusCode::TOO_MANY_REQUESTS, "throttled", "Too many requests", detail)
        }
        Reason::TooLarge => {
            let detail =
                "The item would be larger than 2 MB, the limit of the store. Send less text.";
            (StatusCode::PAYLOAD_TOO_LARGE, "item-too-large", "Item too large", detail)
        }
        Reason::PartitionFull => {
            tracing::error!(cause, "A logical partition is full: 20 GB (service limit)");
            let detail = "The logical partition of this item has reached the store's limit of 20 GB. Delete some of its items, then retry.";
            (StatusCode::INSUFFICIENT_STORAGE, "partition-full", "Partition full", detail)
        }
        Reason::BudgetSpent => {
            tracing::warn!(
                "Ended a request that reached its limit of store requests, request units or time"
            );
            let detail = "This request reached its limit of store requests, request units or time. Ask for less, or retry after the seconds in `Retry-After`.";
            (StatusCode::SERVICE_UNAVAILABLE, "budget-spent", "Budget spent", detail)
        }
        Reason::Unreadable | Reason::Unexpected => {
            tracing::error!(cause, reason = %error.reason, "The store returned an unexpected error");
            return internal();
        }
        // A race that was lost in all attempts is as good as an unavailable store.
        reason => {
            tracing::warn!(?reason, cause, "The store is unavailable");
            let detail = "The store is unavailable. Retry after the seconds in `Retry-After`.";
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Service unavailable", detail)
        }
    };
    Refusal::new(status, slug, title, detail)
}
