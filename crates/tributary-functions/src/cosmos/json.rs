//! Items as text: the form between the SDK and the types of an app.

use std::collections::BTreeMap;

use azure_core::http::Etag;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};
use serde_json::{Map, Value};

use super::{ETag, StoreError, meter::timed_sync};

/// An item as JSON text: for answers that have items as they were written. All reads of the SDK have this type, so
/// its code is compiled once, and that of an app's type has one parser instead of the SDK's three.
#[derive(Debug, Clone)]
pub struct JsonText(Vec<u8>);

impl JsonText {
    /// Returns the item as a `T`, in metered time; `Unreadable` if it has another form.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        timed_sync(|| self.try_parse()).map_err(|error| StoreError::from_parse(&error))
    }

    pub(super) fn try_parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        parse_item(&self.0)
    }

    /// Returns the item as a `T`; `None` if it has another form.
    pub fn parse<T: DeserializeOwned>(&self) -> Option<T> {
        self.try_parse().ok()
    }

    pub(crate) fn into_text(self) -> String {
        String::from_utf8(self.0).unwrap_or_default()
    }

    pub(crate) fn fields(&self) -> BTreeMap<String, Value> {
        self.parse().unwrap_or_default()
    }

    /// Returns a field of the item as a `T`; `None` if it is missing or has another form.
    pub fn field<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        JsonText::from(self.fields().get(name)?).parse()
    }

    /// Returns the id of the item, or of the first item in this row of a query.
    pub fn id(&self) -> Option<String> {
        let fields = self.fields();
        let own = fields.get("id").and_then(Value::as_str);
        let id = own.or_else(|| fields.values().find_map(|item| item.get("id")?.as_str()));
        id.map(str::to_owned)
    }

    /// Returns `before`, a JSON array of the items, and `after`. Each item is freed as soon as it is copied.
    pub fn array(before: &str, items: Vec<Self>, after: &str) -> Vec<u8> {
        let length: usize = items.iter().map(|item| item.0.len() + ','.len_utf8()).sum();
        let mut text = Vec::with_capacity(before.len() + "[]".len() + length + after.len());
        text.extend_from_slice(before.as_bytes());
        text.push(b'[');
        for (number, item) in items.into_iter().enumerate() {
            if number > 0 {
                text.push(b',');
            }
            text.extend_from_slice(&item.0);
        }
        text.push(b']');
        text.extend_from_slice(after.as_bytes());
        text
    }
}

impl From<&Value> for JsonText {
    fn from(item: &Value) -> Self {
        Self(item.to_string().into_bytes())
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Vec::with_capacity(512);
        let mut writer = serde_json::Serializer::new(&mut text);
        serde_transcode::transcode(deserializer, &mut writer).map_err(D::Error::custom)?;
        text.shrink_to_fit();
        Ok(Self(text))
    }
}

/// The largest whole number that every program reads alike (RFC 8259, section 6).
const MAX_WHOLE: u64 = (1 << 53) - 1;

const MAX_WHOLE_DIGITS: usize = 16;

/// Parses an item. A whole number above 2⁵³ − 1 is a double, as to other programs, and so no `u64`: adding to a
/// version or a count cannot overflow.
pub(crate) fn parse_item<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    let digits = text.chunk_by(|one, next| one.is_ascii_digit() && next.is_ascii_digit());
    if digits.map(<[u8]>::len).all(|run| run < MAX_WHOLE_DIGITS) {
        return serde_json::from_slice(text);
    }
    let mut item = serde_json::from_slice::<Value>(text)?;
    for number in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
        #[expect(clippy::cast_precision_loss, reason = "a number of the store is a double")]
        if let Some(large) = number.as_u64().filter(|number| *number > MAX_WHOLE) {
            *number = (large as f64).into();
        }
    }
    serde_json::from_value(item)
}

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
    /// Returns the item as a `U`; `None` if it is of another type ([`item_types`](crate::values::item_types)).
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
    use std::error::Error as _;

    use serde_json::json;

    use super::{super::Reason, *};

    #[test]
    fn the_error_of_an_unreadable_item_quotes_no_value() {
        let error = JsonText::from(&json!("secret")).read::<u64>().unwrap_err();
        assert_eq!(error.reason, Reason::Unreadable);
        let cause = error.source().unwrap();
        assert!(!format!("{error:?} {cause}").contains("secret"), "{error:?} {cause}");
    }

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
