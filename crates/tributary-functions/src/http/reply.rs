//! Answers with one item.

use std::marker::PhantomData;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::Conditions;
use crate::cosmos::{ETag, JsonText};

/// An answer with an item, whose fields are those of `T`.
#[derive(Debug)]
pub struct ItemResponse<T> {
    response: Response,
    item: PhantomData<fn() -> T>,
}

impl<T> From<Response> for ItemResponse<T> {
    fn from(response: Response) -> Self {
        Self { response, item: PhantomData }
    }
}

impl<T: Serialize> From<Json<T>> for ItemResponse<T> {
    fn from(item: Json<T>) -> Self {
        item.into_response().into()
    }
}

impl<T> IntoResponse for ItemResponse<T> {
    fn into_response(self) -> Response {
        self.response
    }
}

/// Returns the answer to a reader: an item with its ETag, or 304 if the reader has this state already.
pub fn found<T: Serialize>(conditions: &Conditions, body: &T, etag: &ETag) -> ItemResponse<T> {
    if !conditions.not_modified(etag) {
        return item(StatusCode::OK, body, etag);
    }
    with_header(StatusCode::NOT_MODIFIED.into_response(), header::ETAG, etag.as_ref()).into()
}

/// Returns the answer with an item and its ETag.
pub fn item<T: Serialize>(status: StatusCode, body: &T, etag: &ETag) -> ItemResponse<T> {
    let response = (status, Json(body)).into_response();
    with_header(response, header::ETAG, etag.as_ref()).into()
}

/// Returns the answer 201 with a new item, its ETag and its location.
pub fn created<T: Serialize>(location: &str, body: &T, etag: &ETag) -> ItemResponse<T> {
    let ItemResponse { response, .. } = item(StatusCode::CREATED, body, etag);
    with_header(response, header::LOCATION, location).into()
}

fn with_header(mut response: Response, name: header::HeaderName, value: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
    response
}

/// A whole list in one answer, `{"items": […]}`: the texts that the store has, with fields of `T`.
#[derive(Debug)]
pub struct StoredItems<T> {
    items: Vec<JsonText>,
    item: PhantomData<fn() -> T>,
}

impl<T> From<Vec<JsonText>> for StoredItems<T> {
    fn from(items: Vec<JsonText>) -> Self {
        Self { items, item: PhantomData }
    }
}

impl<T> IntoResponse for StoredItems<T> {
    fn into_response(self) -> Response {
        let body = JsonText::array("{\"items\":", self.items, "}");
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}
