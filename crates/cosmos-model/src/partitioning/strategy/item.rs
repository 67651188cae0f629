//! The key of an item.

use serde_json::Value;
use thiserror::Error;

use super::{KeyPart, KeyStrategy};
use crate::partitioning::{
    key::{Key, KeyValue, NotScalar},
    moment::moment,
    parts,
    path::PropertyPath,
};

/// The error of an item without a key.
///
/// A level of one value alone has a key for items that lack the property, too: [`KeyValue::Undefined`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The item does not have the property.
    #[error("{0} is missing, and the key is made of it")]
    Missing(PropertyPath),
    /// The property is `null`.
    #[error("{0} is null, and the key is made of it")]
    Null(PropertyPath),
    /// The property is an object or an array.
    #[error("{0} is an object or an array: name a property within it")]
    NotScalar(PropertyPath),
    /// The property holds no moment.
    #[error("{0} is no time: write it as RFC 3339, such as 2026-11-22T19:30:00Z, or as a date")]
    NotATime(PropertyPath),
}

impl KeyStrategy {
    /// Returns the key of `item`.
    pub fn key(&self, item: &Value) -> Result<Key, KeyError> {
        let of_class = self.class.as_ref().and_then(|class| class.levels(item));
        of_class
            .unwrap_or(&self.levels)
            .iter()
            .map(|level| match level.as_slice() {
                [KeyPart::Value(path)] => value(path, item),
                parts => {
                    let texts: Vec<_> =
                        parts.iter().map(|part| text(part, item)).collect::<Result<_, _>>()?;
                    Ok(joined(&texts))
                }
            })
            .collect()
    }
}

impl KeyPart {
    /// Returns the text of this part for `value`, or `None` where there is none.
    pub(super) fn made_of(&self, value: &KeyValue) -> Option<String> {
        match self {
            Self::Value(_) => value.text(),
            Self::Period(_, granularity) => Some(granularity.period(moment(value)?).to_string()),
            Self::Bucket(_, buckets) => Some(buckets.bucket(&value.text()?)),
        }
    }
}

/// Returns the value of a level of several parts, or of one that is not a value itself.
pub(super) fn joined(texts: &[String]) -> KeyValue {
    KeyValue::Text(parts::join(texts.iter().map(String::as_str)))
}

fn value(path: &PropertyPath, item: &Value) -> Result<KeyValue, KeyError> {
    KeyValue::from_property(path.find(item)).map_err(|NotScalar| KeyError::NotScalar(path.clone()))
}

fn text(part: &KeyPart, item: &Value) -> Result<String, KeyError> {
    let path = part.path();
    match value(path, item)? {
        KeyValue::Undefined => Err(KeyError::Missing(path.clone())),
        KeyValue::Null => Err(KeyError::Null(path.clone())),
        // Numbers and texts have a text, so a period without a time is the only reason.
        value => part.made_of(&value).ok_or_else(|| KeyError::NotATime(path.clone())),
    }
}
