//! Items as an audit reads them: one broken item must not end the audit.

use std::hash::Hash;

use quick_cache::sync::Cache;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{CheckResults, Finding, FindingKind, Suspect, Target};
use crate::cosmos::{Container, ETag, JsonText, StoreError, Stored};

/// An item of a container that the audit reads from end to end.
#[derive(Debug, Clone)]
pub struct AuditedItem {
    /// The container.
    pub container: &'static str,
    /// The logical partition.
    pub partition_key: String,
    /// The id.
    pub id: String,
    /// The ETag.
    pub etag: String,
    /// The item as it is stored.
    pub stored: JsonText,
}

/// The result of reading an item that may be of any form.
#[derive(Debug)]
pub enum Slot<T> {
    /// There is no item.
    Empty,
    /// There is an item that is no `T`.
    Unreadable(ETag),
    /// There is an item.
    Item(Stored<T>),
}

/// Reads an item that may be of any form.
pub async fn read_slot<T: DeserializeOwned>(
    container: &Container,
    partition_key: &str,
    id: &str,
) -> Result<Slot<T>, StoreError> {
    Ok(match container.read::<JsonText>(partition_key, id).await? {
        None => Slot::Empty,
        Some(Stored { item, etag }) => match item.parse() {
            Some(item) => Slot::Item(Stored { item, etag }),
            None => Slot::Unreadable(etag),
        },
    })
}

impl AuditedItem {
    pub(super) fn new(container: &'static str, partition_key: &str, stored: JsonText) -> Self {
        let fields = stored.fields();
        let text = |name| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let partition_key = text(partition_key);
        let id = text("id");
        let etag = text("_etag");
        Self { container, partition_key, id, etag, stored }
    }

    /// Returns the item as a `T`, or a suspect of the kind [`FindingKind::UNREADABLE`].
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Vec<Suspect>> {
        self.stored.parse().ok_or_else(|| {
            let words = (format!("an item of {}", self.container), "something else");
            vec![self.suspect(FindingKind::UNREADABLE, words, &self.etag)]
        })
    }

    /// Returns the suspects of a check of the item as a `T`, or that of an unreadable item.
    pub async fn check<T: DeserializeOwned, F: Future<Output = CheckResults>>(
        &self,
        check: impl FnOnce(T) -> F,
    ) -> CheckResults {
        match self.parse() {
            Ok(item) => check(item).await,
            Err(unreadable) => Ok(unreadable),
        }
    }

    /// Returns a suspect for this item: the expected and the found state in words, and the evidence.
    pub fn suspect(
        &self,
        kind: FindingKind,
        (expected, found): (impl Into<String>, impl Into<String>),
        evidence: impl Into<String>,
    ) -> Suspect {
        let location = (self.container, self.partition_key.clone(), self.id.clone());
        self.suspect_at(kind, location, (expected, found), evidence)
    }

    /// Returns a suspect for an item that is derived from this one, in a container and a partition.
    pub fn suspect_at(
        &self,
        kind: FindingKind,
        (container, partition_key, id): (&'static str, String, String),
        (expected, found): (impl Into<String>, impl Into<String>),
        evidence: impl Into<String>,
    ) -> Suspect {
        let target = Target::Item {
            container: self.container,
            partition_key: self.partition_key.clone(),
            id: self.id.clone(),
        };
        let expected = expected.into();
        let found = found.into();
        let finding = Finding { kind, container, partition_key, id, expected, found, repair: None };
        Suspect { target, finding, evidence: evidence.into() }
    }
}

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

/// The items that others refer to, each read once for many checks. An old one only raises a suspicion.
pub struct ReferencedItems<K, T>(Cache<K, ReferencedItem<T>>);

impl<K: Hash + Eq + Clone, T: Clone> ReferencedItems<K, T> {
    /// Creates a memory of at most `at_most` items.
    pub fn new(at_most: usize) -> Self {
        Self(Cache::new(at_most))
    }

    /// Returns a part of an item; `None` for an item of another type or none. A `fresh` call reads the store.
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
