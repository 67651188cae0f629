//! Lists in pages.
//!
//! A cursor holds the sort key of the last item of a page, so the next page begins right after it,
//! whatever was inserted or deleted meanwhile and whatever the limit. The store's own continuation
//! tokens would not do: they bind the page size and end pages where the store likes.

use axum::{Json, extract::FromRequestParts, http::request::Parts};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    ApiError,
    query::{limit_from, parameters},
};
use crate::{
    cosmos::{Container, confirm},
    engines::child_list::{ChildList, SortKey},
};

/// The page that a caller asks for; `K` is the sort key of the list, `F` what it is filtered by.
#[derive(Debug)]
pub struct PageRequest<K, F = ()> {
    /// How many items, 1 to 100.
    pub limit: u32,
    /// The sort key after which the page begins.
    pub after: Option<K>,
    /// Which items.
    pub filter: F,
    scope: String,
}

/// What a list can be filtered by: query parameters beside `limit` and `cursor`.
///
/// Two equal filters are written equally: that is how a cursor is known to belong to its list.
pub trait Filter: Default + Serialize {
    /// Takes a parameter of the query string, or ignores it when it is none of the filter's.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ApiError>;
}

impl Filter for () {
    fn set(&mut self, _: &str, _: &str) -> Result<(), ApiError> {
        Ok(())
    }
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
    /// The list that the cursor belongs to: its path, and its filter when it has one.
    String,
    K,
);

impl<K: Serialize, F> PageRequest<K, F> {
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
            let cursor = serde_json::to_vec(&Cursor(self.scope, key(last))).unwrap_or_default();
            BASE64_URL_SAFE_NO_PAD.encode(cursor)
        });
        List { items, next_cursor }
    }
}

impl PageRequest<SortKey> {
    /// Returns a page of the children in a logical partition; a missing parent is a 404.
    pub async fn of_children<C: DeserializeOwned + Send + 'static>(
        self,
        list: &ChildList,
        container: &Container,
        partition: &str,
        key: impl Fn(&C) -> SortKey,
    ) -> Result<Json<List<C>>, ApiError> {
        let find = async |reads| {
            let container = container.reading(reads);
            let page = list.page(&container, partition, self.fetch(), self.after.as_ref());
            page.await?.ok_or(ApiError::NotFound(list.parent))
        };
        let children = confirm(find).await?;
        Ok(Json(self.page(children, key)))
    }
}

impl<S: Send + Sync, K: DeserializeOwned, F: Filter> FromRequestParts<S> for PageRequest<K, F> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let (mut limit, mut filter, mut cursor) = (20, F::default(), None);
        for (name, value) in parameters(parts.uri.query())? {
            match name.as_str() {
                "limit" => limit = limit_from(&value)?,
                "cursor" => cursor = Some(value),
                _ => filter.set(&name, &value)?,
            }
        }
        let scope = scope(parts.uri.path(), &filter)?;
        let after = cursor.map(|cursor| after(&scope, &cursor)).transpose()?;
        Ok(Self { limit, after, filter, scope })
    }
}

fn scope(path: &str, filter: &impl Serialize) -> Result<String, ApiError> {
    match serde_urlencoded::to_string(filter) {
        Ok(filter) if filter.is_empty() => Ok(path.to_owned()),
        Ok(filter) => Ok(format!("{path}?{filter}")),
        Err(_) => Err(ApiError::Internal),
    }
}

fn after<K: DeserializeOwned>(scope: &str, text: &str) -> Result<K, ApiError> {
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(text).ok();
    decoded
        .and_then(|bytes| serde_json::from_slice::<Cursor<K>>(&bytes).ok())
        .filter(|Cursor(of, _)| of == scope)
        .map(|Cursor(_, key)| key)
        .ok_or_else(|| ApiError::invalid("cursor", "must be the `nextCursor` of this list"))
}
