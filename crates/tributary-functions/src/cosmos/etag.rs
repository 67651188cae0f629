//! ETags, and the properties that a conditional write keeps.
//!
//! In a rolling deployment two versions of the app write the same items. The older one parses an item into a type
//! that lacks the newer properties, and would lose them. So the ETag of an item that was read also has the state
//! that it names, and a write under it keeps each property which the type of the written item does not know.
//!
//! | property | kept | reason |
//! | --- | --- | --- |
//! | of the item | yes | |
//! | of an inner object that the write leaves as it is, or with the same `id` as before | yes | it is the same thing |
//! | of an inner object that the write changes | no | it is a value, such as an address or a hash, and the write replaces it as a whole |
//! | known to the type of the written item | as written | a missing one was removed |
//! | `ttl`, and those of the store itself (`_ts`) | no | an item that lives too long is repaired, a deleted one is not |
//!
//! Nothing is kept where the write replaces an item by one of another `type`, by a tombstone (an item with a
//! positive `ttl`), or a tombstone by an item. A write costs no further request.

use std::{fmt, sync::Arc};

use azure_core::http::Etag;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{JsonText, StoreError};

type Object = Map<String, Value>;

/// The ETag of an item: the name of its state. One from a read has this state, too, for the writes under it.
#[derive(Clone)]
pub struct ETag {
    tag: Etag,
    state: Option<Arc<JsonText>>,
}

impl ETag {
    pub(super) fn of_read(tag: Etag, state: JsonText) -> Self {
        Self { tag, state: Some(state.into()) }
    }

    pub(super) fn of_write(tag: Etag, state: Option<&Value>) -> Self {
        Self { tag, state: state.map(|state| JsonText::from(state).into()) }
    }

    pub(super) fn tag(&self) -> &Etag {
        &self.tag
    }

    /// Returns this ETag with the state of another item, for a write that moves that item here.
    pub fn with_state_of(&self, source: &Self) -> Self {
        Self { tag: self.tag.clone(), state: source.state.clone() }
    }

    pub(super) fn completed<T: Serialize + DeserializeOwned>(
        &self,
        item: &T,
    ) -> Result<Option<Arc<Value>>, StoreError> {
        let Some(state) = &self.state else { return Ok(None) };
        let known = || to_value(&state.parse::<T>()?).ok();
        Ok(completed(state.parse(), to_value(item)?, known))
    }
}

fn to_value(item: &dyn erased_serde::Serialize) -> Result<Value, StoreError> {
    serde_json::to_value(item).map_err(|_| StoreError::unexpected())
}

/// The known part is asked for only if the stored item has more than the new one.
fn completed(
    stored: Option<Object>,
    new: Value,
    known: impl FnOnce() -> Option<Value>,
) -> Option<Arc<Value>> {
    let (Some(mut stored), Value::Object(mut new)) = (stored, new) else { return None };
    if stored.get("type") != new.get("type") || is_tombstone(&stored) != is_tombstone(&new) {
        return None;
    }
    stored.retain(|name, _| !name.starts_with('_') && name != "ttl");
    if !has_more(&stored, &new) {
        return None;
    }
    let Some(Value::Object(known)) = known() else { return None };
    let is_more = keep(&stored, &known, &mut new);
    is_more.then(|| Arc::new(Value::Object(new)))
}

fn is_tombstone(item: &Object) -> bool {
    item.get("ttl").and_then(Value::as_i64).is_some_and(|ttl| ttl > 0)
}

fn has_more(stored: &Object, new: &Object) -> bool {
    stored.iter().any(|(name, stored)| new.get(name).is_none_or(|new| value_has_more(stored, new)))
}

fn value_has_more(stored: &Value, new: &Value) -> bool {
    match (stored, new) {
        (Value::Object(stored), Value::Object(new)) => has_more(stored, new),
        (Value::Array(stored), Value::Array(new)) if stored.len() == new.len() => {
            stored.iter().zip(new).any(|(stored, new)| value_has_more(stored, new))
        }
        (Value::Array(stored), Value::Array(_)) => stored.iter().any(Value::is_object),
        _ => false,
    }
}

fn keep(stored: &Object, known: &Object, new: &mut Object) -> bool {
    let mut is_more = false;
    for (name, stored) in stored {
        match (known.get(name), new.get_mut(name)) {
            (None, None) => {
                new.insert(name.clone(), stored.clone());
                is_more = true;
            }
            (Some(known), Some(new)) => is_more |= keep_inner(stored, known, new),
            // The write has removed or added it.
            (Some(_), None) | (None, Some(_)) => {}
        }
    }
    is_more
}

fn keep_inner(stored: &Value, known: &Value, new: &mut Value) -> bool {
    let is_kept = is_same(known, new);
    match (stored, known, new) {
        (Value::Object(stored), Value::Object(known), Value::Object(new)) if is_kept => {
            keep(stored, known, new)
        }
        (Value::Array(stored), Value::Array(known), Value::Array(new))
            if stored.len() == known.len() =>
        {
            let mut is_more = false;
            for (at, new) in new.iter_mut().enumerate().filter(|(_, new)| new.is_object()) {
                let is_new = |known: &Value| is_same(known, new);
                let here = known.get(at).is_some_and(is_new).then_some(at);
                if let Some(at) = here.or_else(|| known.iter().position(is_new)) {
                    is_more |= keep_inner(&stored[at], &known[at], new);
                }
            }
            is_more
        }
        _ => false,
    }
}

fn is_same(known: &Value, new: &Value) -> bool {
    let id = known.get("id");
    id.is_some() && id == new.get("id") || known == new
}

impl PartialEq for ETag {
    fn eq(&self, other: &Self) -> bool {
        self.tag == other.tag
    }
}

impl Eq for ETag {}

impl fmt::Debug for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.tag, f)
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_ref())
    }
}

impl AsRef<str> for ETag {
    fn as_ref(&self) -> &str {
        self.tag.as_ref()
    }
}

impl<T: Into<Etag>> From<T> for ETag {
    fn from(tag: T) -> Self {
        Self { tag: tag.into(), state: None }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Room {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(default)]
        lock: Lock,
        #[serde(default)]
        labels: Vec<Label>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl: Option<i64>,
    }

    #[derive(Default, PartialEq, Serialize, Deserialize)]
    struct Lock {
        hash: u64,
    }

    #[derive(Serialize, Deserialize)]
    struct Label {
        id: String,
        name: String,
    }

    fn stored() -> Value {
        json!({
            "id": "r", "name": "Blue", "lock": {"hash": 1, "scheme": "new"}, "size": {"m2": 9}, "_ts": 5,
            "labels": [{"id": "a", "name": "A", "color": 1}, {"id": "b", "name": "B", "color": 2}],
        })
    }

    fn written(stored: &Value, edit: impl Fn(&mut Room)) -> Value {
        let etag = ETag::of_write("1".to_owned().into(), Some(stored));
        let mut room: Room = etag.state.as_ref().unwrap().parse().unwrap();
        edit(&mut room);
        let complete = etag.completed(&room).unwrap();
        complete.map_or_else(|| to_value(&room).unwrap(), |complete| Value::clone(&complete))
    }

    #[test]
    fn an_inner_object_keeps_its_properties_by_its_id() {
        let reordered = written(&stored(), |room| {
            room.labels.reverse();
            room.labels[0].name = "Renamed".into();
            room.labels.push(Label { id: "c".into(), name: "C".into() });
        });
        let expected = json!([
            {"id": "b", "name": "Renamed", "color": 2}, {"id": "a", "name": "A", "color": 1},
            {"id": "c", "name": "C"},
        ]);
        assert_eq!(reordered["labels"], expected);
    }

    #[test]
    fn an_item_of_another_type_keeps_nothing() {
        let etag = ETag::of_write("1".to_owned().into(), Some(&stored()));
        let other = json!({"type": "hall", "id": "r"});
        assert!(etag.completed(&other).unwrap().is_none());
        // The state is none that the type can read.
        let unreadable = ETag::of_write("1".to_owned().into(), Some(&json!({"lock": 1})));
        assert!(
            unreadable.completed(&Label { id: "a".into(), name: "A".into() }).unwrap().is_none()
        );
    }
}
