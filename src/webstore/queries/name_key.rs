//! Lists by name, compared by code point.

use serde::{Deserialize, Serialize};

use crate::{
    cosmos::{Query, StoreError},
    webstore::model::Name,
};

/// Where a page of a list by name ends: [`Name::sort_key`] and id of its last item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameKey(String, String);

impl NameKey {
    /// The key of an item.
    pub(super) fn new(name: &Name, id: &str) -> Self {
        Self(name.sort_key(), id.to_owned())
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
                query.with_parameter("@name", name)?.with_parameter("@id", id)?
            }
        })
    }
}
