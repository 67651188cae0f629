//! Lists in pages.
//!
//! A cursor ([`Cursor`]) holds the sort key of the last item of a page. So the next page begins right after it,
//! whatever was inserted or deleted meanwhile, and with any limit. The store's own continuation tokens fix the
//! page size, and the store may cut a page earlier.
//!
//! An unreadable item is left out. A list of children can have a range of dates ([`DateRange`]), which no cursor
//! widens. An API that is not ours may ask for `offset` and `limit` instead ([`OffsetPage`]). The store reads and
//! charges the items that such a page skips, so an offset is at most 1,000.

use axum::{Json, extract::FromRequestParts, http::request::Parts};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    ApiError, QueryParameter,
    query::{limit_from, moment_from, number_from, parameters},
};
use crate::{
    cosmos::{Container, JsonText, Query, RowResult, Scope, StoreError},
    engines::{
        child_list::{ChildList, DateRange, SortKey},
        name_list::{NameKey, NameList},
    },
};

const MAX_SEARCHED_ROWS: u32 = 1_000;

/// The page that a caller asks for; `K` is the sort key of the list, and `F` its filter.
#[derive(Debug)]
pub struct PageRequest<K, F = ()> {
    /// The number of items, 1 to 100.
    pub limit: u32,
    /// The sort key after which the page begins.
    pub after: Option<K>,
    /// The filter of the items.
    pub filter: F,
    scope: String,
}

/// A filter of a list: query parameters beside `limit` and `cursor`. Equal filters are serialized equally.
pub trait Filter: Default + Serialize {
    /// The parameters that it takes.
    const PARAMETERS: &'static [QueryParameter];

    /// Takes a parameter of the query string, or ignores it when it is none of the filter's.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ApiError>;
}

impl Filter for () {
    const PARAMETERS: &'static [QueryParameter] = &[];

    fn set(&mut self, _: &str, _: &str) -> Result<(), ApiError> {
        Ok(())
    }
}

impl Filter for DateRange {
    const PARAMETERS: &'static [QueryParameter] = &[
        QueryParameter::new(
            "from",
            "The begin of the range: an RFC 3339 timestamp, or a date of UTC.",
        )
        .example("2026-01-01"),
        QueryParameter::new("until", "The end of the range, exclusive.").example("2100-01-01"),
    ];

    fn set(&mut self, name: &str, value: &str) -> Result<(), ApiError> {
        match name {
            "from" => self.from = Some(moment_from(name, value)?),
            "until" => self.until = Some(moment_from(name, value)?),
            _ => {}
        }
        if self.from.zip(self.until).is_some_and(|(from, until)| from >= until) {
            return Err(ApiError::invalid("from", "must be before `until`"));
        }
        Ok(())
    }
}

/// Declares the filter of a list: its optional query parameters, each with its checked type, what it selects, and an
/// example.
///
/// ```
/// use tributary_functions::{
///     http::list_filter,
///     values::{checked_text, length_rule},
/// };
///
/// checked_text!(Tag, "soup", length_rule(1..=40));
/// list_filter!(
///     struct RecipeFilter {
///         tag: Tag, "Recipes with this tag.", "soup";
///     }
/// );
/// ```
#[macro_export]
macro_rules! list_filter {
    ($(#[$doc:meta])* $visibility:vis struct $type:ident {
        $($parameter:ident: $of:ident, $selects:literal, $example:literal);+ $(;)?
    }) => {
        $(#[$doc])*
        #[derive(Debug, Default, ::serde::Serialize)]
        $visibility struct $type {
            $($parameter: ::std::option::Option<$of>),+
        }

        impl $crate::http::Filter for $type {
            const PARAMETERS: &'static [$crate::http::QueryParameter] =
                &[$($crate::http::QueryParameter::new(stringify!($parameter), $selects).example($example)),+];

            fn set(&mut self, name: &str, value: &str) -> Result<(), $crate::http::ApiError> {
                $(if name == stringify!($parameter) {
                    let bad = |rule: $crate::values::Invalid| $crate::http::ApiError::invalid(name, rule.0);
                    self.$parameter = Some($of::parse(value.to_owned()).map_err(bad)?);
                })+
                Ok(())
            }
        }
    };
}

/// One page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}Page")]
pub struct List<T> {
    items: Vec<T>,
    /// The `cursor` of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl<T> List<T> {
    /// Returns true if the page has no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<K: Serialize, F> PageRequest<K, F> {
    /// Returns the number of items to query: one more than the page holds, which tells if there is a next page.
    pub fn fetch(&self) -> u32 {
        self.limit + 1
    }

    /// Reads [`Self::fetch`] rows and returns their page. Unreadable rows are left out: `position` returns that of
    /// such a row, and `key` that of an item. If no row of a page has a position, up to 1,000 rows are read.
    pub async fn read<T, E, R: Future<Output = Result<Vec<RowResult<T>>, E>>>(
        self,
        read: impl Fn(u32) -> R,
        key: impl Fn(&T) -> K,
        position: impl Fn(&JsonText) -> Option<K>,
    ) -> Result<List<T>, E> {
        let mut most = self.fetch();
        loop {
            let rows = read(most).await?;
            let mut has_more = rows.len() >= most as usize;
            let mut items = Vec::new();
            let mut last = None;
            for row in rows {
                match row {
                    Ok(_) if items.len() >= self.limit as usize => {
                        has_more = true;
                        break;
                    }
                    Ok(item) => {
                        last = Some(key(&item));
                        items.push(item);
                    }
                    Err(row) => last = position(&row).or(last),
                }
            }
            if has_more && last.is_none() && most < MAX_SEARCHED_ROWS {
                most = MAX_SEARCHED_ROWS;
            } else {
                return Ok(self.ending_at(items, last.filter(|_| has_more)));
            }
        }
    }

    /// Returns the page of merged items. If the page is not full, the list continues after `rest`.
    pub fn page<T>(self, mut items: Vec<T>, rest: Option<K>, key: impl Fn(&T) -> K) -> List<T> {
        let is_full = items.len() > self.limit as usize;
        items.truncate(self.limit as usize);
        let last = if is_full { items.last().map(key) } else { rest };
        self.ending_at(items, last)
    }

    fn ending_at<T>(self, items: Vec<T>, position: Option<K>) -> List<T> {
        let cursor = position.and_then(|at| serde_json::to_vec(&Cursor(self.scope, at)).ok());
        List { items, next_cursor: cursor.map(|cursor| BASE64_URL_SAFE_NO_PAD.encode(cursor)) }
    }
}

impl<F: Copy + Into<DateRange>> PageRequest<SortKey, F> {
    /// Returns a page of the children in a partition, with dates in the filter's range. No parent is a 404.
    pub async fn of_children<C: DeserializeOwned>(
        self,
        list: &ChildList,
        container: &Container,
        partition: &str,
        key: impl Fn(&C) -> SortKey,
    ) -> Result<Json<List<C>>, ApiError> {
        let after = self.after.clone();
        let range = self.filter.into();
        if after.as_ref().is_some_and(|SortKey(date, _)| !range.has(*date)) {
            return Err(refused_cursor());
        }
        let read = async |most| {
            let page = list.page(container, partition, most, range, after.as_ref()).await?;
            page.ok_or(ApiError::NotFound(list.parent))
        };
        Ok(Json(self.read(read, key, |row| list.position(row)).await?))
    }
}

impl<N: AsRef<str> + Clone + Serialize + DeserializeOwned> PageRequest<NameKey<N>> {
    /// Returns a page of a logical partition by name.
    pub async fn of_names<T: DeserializeOwned>(
        self,
        list: &NameList,
        container: &Container,
        partition: &str,
        key: impl Fn(&T) -> NameKey<N>,
    ) -> Result<List<T>, StoreError> {
        let after = self.after.clone();
        let read = async |most| list.page(container, partition, most, after.as_ref()).await;
        self.read(read, key, NameKey::from_row).await
    }
}

impl<S: Send + Sync, K: DeserializeOwned, F: Filter> FromRequestParts<S> for PageRequest<K, F> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut limit = 20;
        let mut filter = F::default();
        let mut cursor = None;
        for (name, value) in parameters(parts.uri.query())? {
            match name.as_str() {
                "limit" => limit = limit_from(&value)?,
                "cursor" => cursor = Some(value),
                _ => filter.set(&name, &value)?,
            }
        }
        let scope = scope(parts.uri.path(), &filter)?;
        let after = cursor.map(|text| read_cursor(&scope, &text)).transpose()?;
        Ok(Self { limit, after, filter, scope })
    }
}

/// The most items that a page skips.
const MAX_OFFSET: u32 = 1_000;

/// The page that a caller asks for by `offset` and `limit`, with the filter `F`, without cursor and envelope.
#[derive(Debug)]
pub struct OffsetPage<F = ()> {
    /// The number of items before the page, 0 to 1,000: the store reads and charges them.
    pub offset: u32,
    /// The number of items, 1 to 100.
    pub limit: u32,
    /// The filter of the items.
    pub filter: F,
}

impl<F> OffsetPage<F> {
    /// Returns the page of a list in one logical partition, and the number of its items (0.1 request units for each):
    /// two store requests. Unreadable items are left out. The list is SQL: the properties of an item `c`, the filter
    /// with its `values`, and an order that tells any two items apart.
    pub async fn read<T: DeserializeOwned>(
        &self,
        container: &Container,
        partition: &str,
        [shape, filter, order]: [&str; 3],
        values: Query,
    ) -> Result<(Vec<T>, u64), StoreError> {
        let scope = Scope::Partition(partition);
        let count = format!("SELECT VALUE COUNT(1) FROM c WHERE {filter}");
        let count: Vec<u64> = container.query(values.clone().with_text(count), scope, 1).await?;
        let page = format!(
            "SELECT {shape} FROM c WHERE {filter} ORDER BY {order} OFFSET @offset LIMIT @limit"
        );
        let page = values.with_text(page).with_parameter("@offset", self.offset)?;
        let page = page.with_parameter("@limit", self.limit)?;
        let rows = container.query_rows(page, scope, self.limit).await?;
        Ok((rows.into_iter().flatten().collect(), count.into_iter().sum()))
    }
}

impl<S: Send + Sync, F: Filter> FromRequestParts<S> for OffsetPage<F> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut page = Self { offset: 0, limit: 20, filter: F::default() };
        for (name, value) in parameters(parts.uri.query())? {
            match name.as_str() {
                "limit" => page.limit = limit_from(&value)?,
                "offset" => page.offset = number_from(&name, &value, 0..=MAX_OFFSET)?,
                _ => page.filter.set(&name, &value)?,
            }
        }
        Ok(page)
    }
}

fn scope(path: &str, filter: &impl Serialize) -> Result<String, ApiError> {
    match serde_urlencoded::to_string(filter) {
        Ok(filter) if filter.is_empty() => Ok(path.to_owned()),
        Ok(filter) => Ok(format!("{path}?{filter}")),
        Err(_) => Err(ApiError::Internal),
    }
}

/// The longest cursor, in characters. A cursor of the app has at most a path, a filter, a name and an id.
const MAX_CURSOR_CHARACTERS: usize = 8 * 1024;

/// A list, filter included, and a position in it; limit and window come from the request. So a cursor needs no
/// signature: a forged one gets the rest of the same list. A type of position refuses values that no item has.
#[derive(Serialize, Deserialize)]
struct Cursor<K>(
    /// The list: its path, and its filter when it has one.
    String,
    K,
);

fn read_cursor<K: DeserializeOwned>(list: &str, text: &str) -> Result<K, ApiError> {
    let text = Some(text).filter(|text| text.len() <= MAX_CURSOR_CHARACTERS);
    let cursor = text.and_then(|text| BASE64_URL_SAFE_NO_PAD.decode(text).ok());
    match cursor.and_then(|cursor| serde_json::from_slice(&cursor).ok()) {
        Some(Cursor(of, position)) if of == list => Ok(position),
        _ => Err(refused_cursor()),
    }
}

/// Returns the error of a cursor that no page of the list has returned.
pub fn refused_cursor() -> ApiError {
    ApiError::invalid("cursor", "must be the `nextCursor` of this list")
}
