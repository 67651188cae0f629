//! A request with its address and headers.

use std::borrow::Cow;

use bytes::Bytes;
use http::{Method, Request};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::{Refusal, Result, engine::View, json::Json};

pub(super) mod name {
    //! Headers of requests.
    pub(crate) const ALLOWS_ALL: &str = "x-ms-documentdb-query-enablecrosspartition";
    pub(crate) const BATCH: &str = "x-ms-cosmos-is-batch-request";
    pub(crate) const CHANGE_FEED: &str = "a-im";
    pub(crate) const CONTINUATION: &str = "x-ms-continuation";
    pub(crate) const IF_MATCH: &str = "if-match";
    pub(crate) const IF_NONE_MATCH: &str = "if-none-match";
    pub(crate) const KEY: &str = "x-ms-documentdb-partitionkey";
    pub(crate) const MAX_ITEMS: &str = "x-ms-max-item-count";
    pub(crate) const PLAN: &str = "x-ms-cosmos-is-query-plan-request";
    pub(crate) const QUERY: &str = "x-ms-documentdb-isquery";
    pub(crate) const RANGE: &str = "x-ms-documentdb-partitionkeyrangeid";
    pub(crate) const SESSION: &str = "x-ms-session-token";
    pub(crate) const UPSERT: &str = "x-ms-documentdb-is-upsert";
}

/// A request, whose address is split into its decoded segments, and the state that it sees.
pub(super) struct Call {
    pub(super) request: Request<Bytes>,
    segments: Vec<String>,
    pub(super) view: View,
}

impl Call {
    pub(super) fn new(request: Request<Bytes>, view: View) -> Self {
        let segments = segments(path(request.uri()));
        Self { request, segments, view }
    }

    pub(super) fn method(&self) -> &Method {
        self.request.method()
    }

    /// Returns the decoded segments of the path.
    pub(super) fn path(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.request, name)
    }

    pub(super) fn is(&self, name: &str) -> bool {
        is(&self.request, name)
    }

    pub(super) fn body(&self) -> &Bytes {
        self.request.body()
    }

    pub(super) fn json(&self) -> Result<Json> {
        Json::parse(self.body())
    }

    /// Returns the body as a value of `serde_json`, for the definitions of resources.
    pub(super) fn value(&self) -> Result<Value> {
        let mut text = Vec::new();
        let bytes = if self.body().first() == Some(&0x80) {
            self.json()?.write(&mut text);
            &text
        } else {
            self.body().as_ref()
        };
        let value: Value = serde_json::from_slice(bytes).map_err(|error| {
            Refusal::new(400, format!("The request payload is invalid: {error}"))
        })?;
        if value.is_object() {
            Ok(value)
        } else {
            Err(Refusal::new(400, "The request payload is invalid: it is no object."))
        }
    }

    /// Returns the partition key of the request. `[]` is none.
    pub(super) fn key(&self) -> Result<Option<Json>> {
        match self.header(name::KEY) {
            None => Ok(None),
            Some(text) => match Json::parse(text.as_bytes()) {
                Ok(Json::Array(values)) if values.is_empty() => Ok(None),
                Ok(key @ Json::Array(_)) => Ok(Some(key)),
                _ => {
                    let message = format!("Partition key {text} is invalid: it is no JSON array.");
                    Err(Refusal::new(400, message))
                }
            },
        }
    }

    /// Returns the most items of a page that the request allows; `None` lets the store choose.
    pub(super) fn max_items(&self) -> Result<Option<u32>> {
        let Some(text) = self.header(name::MAX_ITEMS) else { return Ok(None) };
        match text.trim().parse::<i32>() {
            Ok(-1) => Ok(None),
            Ok(count @ 1..) => Ok(u32::try_from(count).ok()),
            _ => {
                let header = name::MAX_ITEMS;
                let text =
                    format!("The value '{text}' specified for the header '{header}' is invalid.");
                Err(Refusal::new(400, text))
            }
        }
    }

    /// Returns true if a write shall answer without the item.
    pub(super) fn wants_no_content(&self) -> bool {
        let answers = self.header("x-ms-cosmos-populate-content-response-on-write");
        let prefers = self.header("prefer").is_some_and(|it| it.contains("return=minimal"));
        answers.map_or(prefers, |it| it.eq_ignore_ascii_case("false"))
    }
}

/// Returns true for a read that has to see the latest committed state.
pub(super) fn demands_newest(request: &Request<Bytes>) -> bool {
    let is = |name: &str, wanted: [&str; 2]| {
        let value = header(request, name);
        value.is_some_and(|value| wanted.iter().any(|name| value.eq_ignore_ascii_case(name)))
    };
    is("x-ms-cosmos-read-consistency-strategy", ["LatestCommitted", "GlobalStrong"])
        || is("x-ms-consistency-level", ["Strong", "BoundedStaleness"])
}

/// Returns the path of an address. The JavaScript SDK does not encode a `?` in the id of an item, so what follows it
/// belongs to the id.
pub(super) fn path(uri: &http::Uri) -> &str {
    match uri.path_and_query() {
        Some(all) if all.path().contains("/docs/") => all.as_str(),
        _ => uri.path(),
    }
}

pub(super) fn segments(path: &str) -> Vec<String> {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    segments.map(|segment| decoded(segment).into_owned()).collect()
}

pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

pub(super) fn header<'a>(request: &'a Request<Bytes>, name: &str) -> Option<&'a str> {
    request.headers().get(name).and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
}

pub(super) fn is(request: &Request<Bytes>, name: &str) -> bool {
    header(request, name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

pub(super) fn is_query(request: &Request<Bytes>) -> bool {
    is(request, name::QUERY) || is(request, "x-ms-documentdb-query")
}

pub(super) fn reads(request: &Request<Bytes>) -> bool {
    *request.method() == Method::GET || is_query(request)
}

pub(super) fn bad_continuation() -> Refusal {
    Refusal::new(400, "Invalid Continuation Token")
}
