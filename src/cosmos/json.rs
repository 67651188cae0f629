//! Items that are handed through.

use serde::{Deserialize, Deserializer, de::Error};

/// An item as JSON text, as the store has it: for what readers get as it was written.
///
/// The SDK speaks the store's binary encoding, so this is not a copy of bytes; but no value of a
/// type of ours is made, checked and written again.
#[derive(Debug, Clone)]
pub struct JsonText(Vec<u8>);

impl JsonText {
    /// A JSON array of items.
    pub fn array(items: &[Self]) -> Vec<u8> {
        let items: Vec<_> = items.iter().map(|item| item.0.as_slice()).collect();
        [b"[", items.join(&b',').as_slice(), b"]"].concat()
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Vec::with_capacity(512);
        let mut writer = serde_json::Serializer::new(&mut text);
        serde_transcode::transcode(deserializer, &mut writer).map_err(D::Error::custom)?;
        Ok(Self(text))
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use serde_json::{Value, json};

    use super::*;

    fn item() -> impl Strategy<Value = Value> {
        (any::<String>(), any::<i64>(), any::<u64>(), any::<Option<bool>>(), vec(any::<f32>(), 0..3))
            .prop_map(|(text, less, more, flag, numbers)| {
                json!({"text": text, "less": less, "more": more, "inner": {"flag": flag, text: numbers}})
            })
    }

    proptest! {
        #[test]
        fn items_are_handed_through_unchanged(items in vec(item(), 0..4)) {
            let stored = serde_json::to_vec(&items).unwrap();
            let texts: Vec<JsonText> = serde_json::from_slice(&stored).unwrap();
            let array: Value = serde_json::from_slice(&JsonText::array(&texts)).unwrap();
            prop_assert_eq!(array, Value::from(items));
        }
    }
}
