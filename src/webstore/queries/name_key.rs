//! Lists by name, compared by code point.

use serde::{Deserialize, Serialize};
use tributary_functions::{
    cosmos::{JsonText, Query, StoreError},
    values::stored_id,
};

use crate::webstore::model::Name;

/// Where a page of a list by name ends: name and id of its last item, sorted by [`Name::sort_key`].
///
/// A cursor has the name itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameKey(Name, #[serde(deserialize_with = "stored_id")] String);

impl NameKey {
    /// The key of an item.
    pub(super) fn new(name: &Name, id: &str) -> Self {
        Self(name.clone(), id.to_owned())
    }

    /// Returns the key of an item that is unreadable.
    pub(super) fn of_row(row: &JsonText) -> Option<Self> {
        Some(Self(row.field("name")?, row.field("id")?))
    }

    /// The condition that leaves what comes after. The range on the name alone is what the index can
    /// seek.
    pub(super) fn filter(after: Option<&Self>) -> &'static str {
        match after {
            None => "",
            Some(_) => "AND c.sortName >= @name AND (c.sortName > @name OR c.id > @id)",
        }
    }

    /// Adds the parameters of [`Self::filter`].
    pub(super) fn parameters(after: Option<&Self>, query: Query) -> Result<Query, StoreError> {
        Ok(match after {
            None => query,
            Some(Self(name, id)) => {
                query.with_parameter("@name", name.sort_key())?.with_parameter("@id", id)?
            }
        })
    }
}
