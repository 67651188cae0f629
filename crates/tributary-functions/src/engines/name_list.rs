//! Lists by name, in the order of code points: a page is one query in one logical partition, sorted by the
//! [`sort_key`] of the name, and by id.
//!
//! # How a domain uses it
//!
//! 1. An item has its name as `name` and the sort key of the name as `sortName`.
//! 2. A `const` of [`NameList`] for each list.
//! 3. A composite index in `infra/containers.json` over partition key, kind, `sortName` and id, all ascending.
//! 4. The handler takes a [`PageRequest`](crate::http::PageRequest) with a [`NameKey`] and calls its `of_names`.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    cosmos::{Container, JsonText, Query, RowResult, Scope, StoreError},
    values::stored_id,
};

/// The definition of a list by name: its items and their properties.
pub struct NameList {
    /// The property that is the partition key.
    pub key: &'static str,
    /// A property and its value in all items of the list, as the store has it.
    pub kind: (&'static str, &'static str),
    /// The properties that are read of each item `c`, as in a query: `id` and `name` at least.
    pub select: &'static str,
}

/// The end of a page of a list by name, sorted by [`sort_key`]: name (checked by the type `N`) and id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameKey<N>(N, #[serde(deserialize_with = "stored_id")] String);

impl<N: AsRef<str> + Clone + DeserializeOwned> NameKey<N> {
    /// Creates the key of an item.
    pub fn new(name: &N, id: &str) -> Self {
        Self(name.clone(), id.to_owned())
    }

    pub(crate) fn from_row(row: &JsonText) -> Option<Self> {
        Some(Self(row.field("name")?, row.field("id")?))
    }
}

impl NameList {
    /// Returns at most `most` items of a logical partition, from the beginning or after `after`.
    pub async fn page<T: DeserializeOwned, N: AsRef<str>>(
        &self,
        container: &Container,
        partition: &str,
        most: u32,
        after: Option<&NameKey<N>>,
    ) -> Result<Vec<RowResult<T>>, StoreError> {
        let Self { key, kind: (kind, value), select } = self;
        // The index seeks the range on the name alone.
        let page = match after {
            None => "",
            Some(_) => "AND c.sortName >= @name AND (c.sortName > @name OR c.id > @id)",
        };
        let text = format!(
            "SELECT TOP @top {select} FROM c WHERE c.{key} = @partition AND c.{kind} = '{value}' {page} \
             ORDER BY c.{key} ASC, c.{kind} ASC, c.sortName ASC, c.id ASC"
        );
        let mut query = Query::from(text)
            .with_parameter("@top", most)?
            .with_parameter("@partition", partition)?;
        if let Some(NameKey(name, id)) = after {
            let name = sort_key(name.as_ref());
            query = query.with_parameter("@name", name)?.with_parameter("@id", id)?;
        }
        container.query_rows(query, Scope::Partition(partition), most).await
    }
}

/// Returns the text by which every store sorts a name by code points, also one that compares UTF-16: every character
/// from U+D7FF is written as U+D7FF and six digits.
pub fn sort_key(name: &str) -> String {
    const ESCAPE: char = '\u{d7ff}';
    let mut key = String::with_capacity(name.len());
    for character in name.chars() {
        if character < ESCAPE {
            key.push(character);
        } else {
            key.push(ESCAPE);
            key.extend(format!("{:06x}", u32::from(character)).chars());
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_are_sorted_by_code_point_whatever_a_store_compares(
            a in "[a-b\u{d7fe}-\u{e001}\u{fffe}-\u{10001}\u{10ffff}]{1,3}",
            b in "[a-b\u{d7fe}-\u{e001}\u{fffe}-\u{10001}\u{10ffff}]{1,3}",
        ) {
            let by_code_point = a.chars().cmp(b.chars());
            let [a, b] = [a, b].map(|name| sort_key(&name));
            prop_assert_eq!(a.encode_utf16().cmp(b.encode_utf16()), by_code_point);
            prop_assert_eq!(a.cmp(&b), by_code_point);
        }
    }
}
