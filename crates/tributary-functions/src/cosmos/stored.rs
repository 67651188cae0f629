//! Items with their ETags.

use azure_core::http::Etag;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};

use super::{ETag, JsonText, StoreError};

/// An item as it was read, and the ETag that a conditional write needs.
#[derive(Debug, Clone)]
pub struct Stored<T> {
    /// The item.
    pub item: T,
    /// The ETag, which changes with every write of the item.
    pub etag: ETag,
}

/// The result of a read: an item as it was read, or `None` if there is none.
pub type ReadResult<T> = Result<Option<Stored<T>>, StoreError>;

impl<T> Stored<T> {
    /// Returns the item as a `U`; `None` if it is of another type
    /// ([`item_types`](crate::values::item_types)).
    pub fn of_type<U: TryFrom<T>>(self) -> Option<Stored<U>> {
        self.filter_map(|item| item.try_into().ok())
    }

    /// Returns the result of `f` on the item, under the same ETag.
    pub fn filter_map<U>(self, f: impl FnOnce(T) -> Option<U>) -> Option<Stored<U>> {
        Some(Stored { item: f(self.item)?, etag: self.etag })
    }
}

impl<T: DeserializeOwned> Stored<T> {
    pub(super) fn read(tag: Etag, state: JsonText) -> Result<Self, StoreError> {
        Ok(Self { item: state.read()?, etag: ETag::of_read(tag, state) })
    }
}

/// Reads a whole item in a row of a query, with the ETag and the state in it.
impl<'de, T: DeserializeOwned> Deserialize<'de> for Stored<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let state = JsonText::deserialize(deserializer)?;
        let ETagOfRow { tag } = state.try_parse().map_err(D::Error::custom)?;
        let item = state.try_parse().map_err(D::Error::custom)?;
        Ok(Self { item, etag: ETag::of_read(tag.into(), state) })
    }
}

#[derive(Deserialize)]
struct ETagOfRow {
    #[serde(rename = "_etag")]
    tag: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_of_a_query_has_its_etag_and_its_state() {
        #[derive(serde::Serialize, Deserialize)]
        struct Room {
            id: String,
        }

        let row = json!({"id": "r", "size": 9, "_etag": "7"});
        let read: Stored<Room> = serde_json::from_value(row).unwrap();
        assert_eq!(read.etag, ETag::from("7"));
        let complete = read.etag.completed(&read.item).unwrap();
        assert_eq!(*complete.unwrap(), json!({"id": "r", "size": 9}));
        let without = json!({"id": "r", "size": 9});
        assert!(serde_json::from_value::<Stored<Room>>(without).is_err(), "it has no ETag");
    }
}
