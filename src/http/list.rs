//! Lists in pages.
//!
//! A cursor holds the sort key of the last item of a page, so the next page begins right after it,
//! whatever was inserted or deleted meanwhile and whatever the limit. The store's own continuation
//! tokens would not do: they bind the page size and end pages where the store likes.

use axum::{extract::FromRequestParts, http::request::Parts};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::ApiError;

/// The page that a caller asks for; `K` is the sort key of the list.
#[derive(Debug)]
pub struct PageRequest<K> {
    /// How many items, 1 to 100.
    pub limit: u32,
    /// The sort key after which the page begins.
    pub after: Option<K>,
    path: String,
}

/// One page of a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Cursor<K>(
    /// The path of the list that the cursor belongs to.
    String,
    K,
);

impl<K: Serialize> PageRequest<K> {
    /// How many items to ask the store for: one more than the page holds, to see whether there
    /// is a next page.
    pub fn fetch(&self) -> u32 {
        self.limit + 1
    }

    /// The page out of what [`Self::fetch`] brought.
    pub fn page<T>(self, mut items: Vec<T>, key: impl Fn(&T) -> K) -> List<T> {
        let has_more = items.len() > self.limit as usize;
        items.truncate(self.limit as usize);
        let next_cursor = items.last().filter(|_| has_more).map(|last| {
            let cursor = serde_json::to_vec(&Cursor(self.path, key(last))).unwrap_or_default();
            BASE64_URL_SAFE_NO_PAD.encode(cursor)
        });
        List { items, next_cursor }
    }
}

impl<S: Send + Sync, K: DeserializeOwned> FromRequestParts<S> for PageRequest<K> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut page = Self { limit: 20, after: None, path: parts.uri.path().to_owned() };
        for (name, value) in parameters(parts.uri.query())? {
            match name.as_str() {
                "limit" => page.limit = limit(&value)?,
                "cursor" => page.after = Some(after(&page.path, &value)?),
                _ => {}
            }
        }
        Ok(page)
    }
}

/// The `limit` of a query string, 1 to 100.
pub fn limit_of(query: Option<&str>, default: u32) -> Result<u32, ApiError> {
    match parameters(query)?.into_iter().find(|(name, _)| name == "limit") {
        Some((_, text)) => limit(&text),
        None => Ok(default),
    }
}

fn parameters(query: Option<&str>) -> Result<Vec<(String, String)>, ApiError> {
    serde_urlencoded::from_str(query.unwrap_or_default())
        .map_err(|_| ApiError::invalid("query", "must be URL-encoded"))
}

fn limit(text: &str) -> Result<u32, ApiError> {
    text.parse()
        .ok()
        .filter(|limit| (1..=100).contains(limit))
        .ok_or_else(|| ApiError::invalid("limit", "must be a whole number from 1 to 100"))
}

fn after<K: DeserializeOwned>(path: &str, text: &str) -> Result<K, ApiError> {
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(text).ok();
    decoded
        .and_then(|bytes| serde_json::from_slice::<Cursor<K>>(&bytes).ok())
        .filter(|Cursor(of, _)| of == path)
        .map(|Cursor(_, key)| key)
        .ok_or_else(|| ApiError::invalid("cursor", "must be the `nextCursor` of this list"))
}
