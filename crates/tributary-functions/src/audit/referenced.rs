//! The memory of an audit: items that many others refer to, such as the guest of several bookings.

use std::hash::Hash;

use quick_cache::sync::Cache;
use serde::de::DeserializeOwned;

use super::{Slot, read_slot};
use crate::cosmos::{Container, StoreError};

/// The state of an item that others refer to, as the audit has read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferencedItem<T> {
    /// An item that exists: the part of it that the others depend on.
    Live(T),
    /// No item.
    Missing,
    /// An item that cannot be read, which is a finding of its own.
    Unreadable,
}

/// The items that others refer to, each read once for many checks.
///
/// A remembered item may be old. That can only raise a suspicion, and a suspect is checked again with
/// `fresh` reads.
pub struct ReferencedItems<K, T>(Cache<K, ReferencedItem<T>>);

impl<K: Hash + Eq + Clone, T: Clone> ReferencedItems<K, T> {
    /// Creates a memory of at most `at_most` items.
    pub fn new(at_most: usize) -> Self {
        Self(Cache::new(at_most))
    }

    /// Returns the state of an item, which has this partition key and id in the container if it exists.
    /// `part` returns `None` for an item of another type. A `fresh` call reads the item from the store.
    pub async fn find<I: DeserializeOwned>(
        &self,
        key: &K,
        fresh: bool,
        (container, partition_key, id): (&Container, &str, &str),
        part: impl FnOnce(I) -> Option<T>,
    ) -> Result<ReferencedItem<T>, StoreError> {
        if !fresh && let Some(known) = self.0.get(key) {
            return Ok(known);
        }
        let part = match read_slot(container, partition_key, id).await? {
            Slot::Item(stored) => part(stored.item),
            Slot::Empty => None,
            Slot::Unreadable(_) => return Ok(ReferencedItem::Unreadable),
        };
        Ok(self.remember(key, part))
    }

    /// Remembers an item that was read for its own sake; `None` if it does not exist.
    pub fn remember(&self, key: &K, part: Option<T>) -> ReferencedItem<T> {
        let known = part.map_or(ReferencedItem::Missing, ReferencedItem::Live);
        self.0.insert(key.clone(), known.clone());
        known
    }
}
