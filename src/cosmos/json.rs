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
