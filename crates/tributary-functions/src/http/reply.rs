//! Answers with one item.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::Conditions;
use crate::cosmos::ETag;

/// The answer to a reader: an item with its ETag, or 304 when the reader has this state already.
pub fn found(conditions: &Conditions, body: &impl Serialize, etag: &ETag) -> Response {
    if !conditions.not_modified(etag) {
        return item(StatusCode::OK, body, etag);
    }
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    if let Ok(value) = HeaderValue::from_str(etag.as_ref()) {
        response.headers_mut().insert(header::ETAG, value);
    }
    response
}

/// An item with its ETag.
pub fn item(status: StatusCode, body: &impl Serialize, etag: &ETag) -> Response {
    let mut response = (status, Json(body)).into_response();
    if let Ok(value) = HeaderValue::from_str(etag.as_ref()) {
        response.headers_mut().insert(header::ETAG, value);
    }
    response
}

/// 201 with the place of the new item.
pub fn created(location: &str, body: &impl Serialize, etag: &ETag) -> Response {
    let mut response = item(StatusCode::CREATED, body, etag);
    if let Ok(value) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, value);
    }
    response
}
