//! `If-Match` and `If-None-Match` (RFC 9110, section 13).

use std::convert::Infallible;

use axum::{
    body::Body,
    extract::{FromRequestParts, Request},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt;
use twox_hash::XxHash64;

use super::ApiError;
use crate::cosmos::ETag;

/// The conditions that a caller makes.
#[derive(Debug, Default)]
pub struct Conditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

#[derive(Debug)]
enum Tags {
    Any,
    These(Vec<String>),
}

impl Conditions {
    /// Returns the condition of a command that only creates: `If-None-Match: *`.
    pub(super) fn only_create() -> Self {
        Self { if_match: None, if_none_match: Some(Tags::Any) }
    }

    /// Checks the conditions against the state of the item; `None` is a missing item.
    pub fn check(&self, current: Option<&ETag>) -> Result<(), ApiError> {
        let is = |tags: &Tags, matches: fn(&Tags, &ETag) -> bool| {
            current.is_some_and(|etag| matches(tags, etag))
        };
        let wanted = self.if_match.as_ref().is_none_or(|tags| is(tags, Tags::match_strongly));
        let unwanted = self.if_none_match.as_ref().is_some_and(|tags| is(tags, Tags::match_weakly));
        if wanted && !unwanted { Ok(()) } else { Err(ApiError::PreconditionFailed) }
    }

    /// Returns true if the caller demands that the item exists: then a missing item is a 412, not a 404.
    pub fn demands_existence(&self) -> bool {
        self.if_match.is_some()
    }

    /// Returns the error for a missing item: 412 if the caller demands that it exists, otherwise 404.
    pub fn missing(&self, what: &'static str) -> ApiError {
        if self.demands_existence() {
            ApiError::PreconditionFailed
        } else {
            ApiError::NotFound(what)
        }
    }

    /// Returns true if the caller makes no condition.
    pub fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    pub(crate) fn name_a_state(&self) -> bool {
        [&self.if_match, &self.if_none_match]
            .into_iter()
            .any(|tags| matches!(tags, Some(Tags::These(_))))
    }

    /// Returns true if the reader has this state already: the answer is a 304.
    pub(crate) fn not_modified(&self, current: &ETag) -> bool {
        self.if_none_match.as_ref().is_some_and(|tags| tags.match_weakly(current))
    }
}

impl Tags {
    fn match_strongly(&self, etag: &ETag) -> bool {
        self.has(|tag| tag == AsRef::<str>::as_ref(etag))
    }

    /// Returns true if a tag matches by the rule of `If-None-Match`: a weak tag matches, too.
    fn match_weakly(&self, etag: &ETag) -> bool {
        self.has(|tag| tag.strip_prefix("W/").unwrap_or(tag) == AsRef::<str>::as_ref(etag))
    }

    fn has(&self, is_equal: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Any => true,
            Self::These(tags) => tags.iter().any(|tag| is_equal(tag)),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Conditions {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self {
            if_match: tags(&parts.headers, &header::IF_MATCH),
            if_none_match: tags(&parts.headers, &header::IF_NONE_MATCH),
        })
    }
}

/// Gives an answer without the ETag of an item, as a list, one of its bytes. A reader that has them gets a 304.
pub(super) async fn tagged(response: Response, conditions: &Conditions) -> Response {
    let has_tag = response.headers().contains_key(header::ETAG);
    if has_tag || response.status() != StatusCode::OK {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // It is one piece in memory, which is not copied.
    let Ok(body) = body.collect().await else { return ApiError::Internal.into_response() };
    let body = body.to_bytes();
    let tag = format!("\"{:016x}\"", XxHash64::oneshot(0, &body));
    if let Ok(tag) = HeaderValue::try_from(&tag) {
        parts.headers.insert(header::ETAG, tag);
    }
    if !conditions.not_modified(&tag.into()) {
        return Response::from_parts(parts, Body::from(body));
    }
    parts.status = StatusCode::NOT_MODIFIED;
    for of_body in [header::CONTENT_TYPE, header::CONTENT_LENGTH] {
        parts.headers.remove(of_body);
    }
    Response::from_parts(parts, Body::empty())
}

/// Checks that a command which takes no conditions has none: they would hold or not without anybody looking.
pub(super) fn check_taken(request: &Request, is_conditional: bool) -> Result<(), ApiError> {
    let has = |name| request.headers().contains_key(name);
    let is_read = is_conditional || request.method().is_safe();
    if is_read || !(has(header::IF_MATCH) || has(header::IF_NONE_MATCH)) {
        Ok(())
    } else {
        Err(ApiError::ConditionNotTaken)
    }
}

/// Returns the tags of a header that may occur several times. The store's tags contain no commas.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Option<Tags> {
    let mut tags = Vec::new();
    for value in headers.get_all(name) {
        let text = String::from_utf8_lossy(value.as_bytes());
        tags.extend(text.split(',').map(|tag| tag.trim().to_owned()));
    }
    match tags.as_slice() {
        [] => None,
        tags if tags.iter().any(|tag| tag == "*") => Some(Tags::Any),
        _ => Some(Tags::These(tags)),
    }
}
