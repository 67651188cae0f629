//! The keys behind the hashes that the handler names partitions by.

use std::collections::HashMap;

use cosmos_model::partitioning::{Key, KeyValue};
use twox_hash::XxHash64;

/// The names in the telemetry, with their keys where these are found.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartitionNames(HashMap<u64, Option<String>>);

impl PartitionNames {
    /// Adds a name. A name that is no hash is a key already.
    pub(crate) fn add(&mut self, name: &str) {
        if let Some(hash) = hash(name) {
            self.0.entry(hash).or_default();
        }
    }

    /// Adds a key of the container, if its hash is a name.
    pub(crate) fn see(&mut self, key: &Key) {
        if let [KeyValue::Text(text)] = key.values()
            && let Some(found) = self.0.get_mut(&XxHash64::oneshot(0, text.as_bytes()))
            && found.is_none()
        {
            *found = Some(key.to_string());
        }
    }

    /// Returns the key behind a name.
    pub(crate) fn key(&self, name: &str) -> Option<String> {
        self.0.get(&hash(name)?)?.clone()
    }
}

/// Returns the hash that a name is: 16 hexadecimal digits in lower case.
fn hash(name: &str) -> Option<u64> {
    let is_hash = name.len() == 16 && name.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
    is_hash.then(|| u64::from_str_radix(name, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The handler pins the same hash: `crates/tributary-functions/src/telemetry/partitions/`.
    #[test]
    fn a_key_is_found_behind_its_hash() {
        let mut names = PartitionNames::default();
        for name in ["0b41beba40346ebe", "ef46db3751d8e999", "bob"] {
            names.add(name);
        }
        names.see(&Key::from("ann"));
        names.see(&Key::from("bob"));
        assert_eq!(names.key("0b41beba40346ebe").as_deref(), Some(r#"["ann"]"#));
        assert_eq!(names.key("ef46db3751d8e999"), None, "the empty key was not seen");
        assert_eq!(names.key("bob"), None, "it is a key and no hash");
    }
}
