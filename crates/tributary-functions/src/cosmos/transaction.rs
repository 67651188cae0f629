//! Transactional batches: several writes in one logical partition, all or none.

use std::sync::Arc;

use azure_data_cosmos::{
    TransactionalBatch,
    options::{BatchDeleteOptions, BatchReplaceOptions, BatchUpsertOptions, Precondition},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{ETag, StoreError, meter::timed_sync, session::current_captures};

const MAX_OPERATIONS: usize = 100;

/// The service limit is 2 MB, envelopes of the items included.
const MAX_BYTES: usize = 1_500_000;

/// The writes of one transaction; at most 100, and 2 MB in all (service limits).
pub struct Transaction {
    pub(super) partition: String,
    pub(super) batch: TransactionalBatch,
    /// For each operation the item as it is written, if it has properties that its type does not know.
    pub(super) states: Vec<Option<Arc<Value>>>,
    /// The items as they are written, in a request that captures documents.
    pub(super) documents: Vec<Result<String, serde_json::Error>>,
    captures: bool,
}

/// The refusal of a transaction, which changed nothing.
#[derive(Debug, thiserror::Error)]
#[error("the transaction changed nothing")]
pub struct Refusal {
    /// The index of the refused operation, from 0; `None` when the transaction as a whole failed.
    pub operation: Option<usize>,
    /// The reason of the refusal.
    #[source]
    pub error: StoreError,
}

impl Transaction {
    /// Returns an empty transaction in a logical partition.
    pub fn new(partition_key: &str) -> Self {
        let batch = TransactionalBatch::new(partition_key.to_owned());
        Self {
            partition: partition_key.to_owned(),
            batch,
            states: Vec::new(),
            documents: Vec::new(),
            captures: !current_captures().is_empty(),
        }
    }

    /// Cuts items of one logical partition into chunks that fit into a transaction each, by their approximate `size`.
    pub fn chunks<T>(items: Vec<T>, size: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
        let mut chunks: Vec<Vec<T>> = Vec::new();
        let mut bytes = 0;
        for item in items {
            let item_bytes = size(&item);
            match chunks.last_mut() {
                Some(chunk) if chunk.len() < MAX_OPERATIONS && bytes + item_bytes <= MAX_BYTES => {
                    bytes += item_bytes;
                    chunk.push(item);
                }
                _ => {
                    bytes = item_bytes;
                    chunks.push(vec![item]);
                }
            }
        }
        chunks
    }

    /// Creates an item; refused with `Conflict` when there is one with its id.
    pub fn create<T: Serialize>(self, item: &T) -> Result<Self, StoreError> {
        self.with(item, None, |batch| Ok(batch.create_item(item)?))
    }

    /// Replaces an item that has not changed since `etag`. It keeps properties that a `T` does not know ([`ETag`]).
    pub fn replace<T: Serialize + DeserializeOwned>(
        self,
        id: &str,
        item: &T,
        etag: &ETag,
    ) -> Result<Self, StoreError> {
        let unchanged = BatchReplaceOptions::default().with_precondition(if_match(etag));
        let complete = etag.completed(item)?;
        self.with(item, complete.clone(), |batch| {
            Ok(match &complete {
                Some(complete) => {
                    batch.replace_item(id.to_owned(), complete.as_ref(), Some(unchanged))
                }
                None => batch.replace_item(id.to_owned(), item, Some(unchanged)),
            }?)
        })
    }

    /// Creates an item, or replaces it when it has not changed since `etag` was read.
    pub fn put<T: Serialize + DeserializeOwned>(
        self,
        id: &str,
        item: &T,
        etag: Option<&ETag>,
    ) -> Result<Self, StoreError> {
        match etag {
            Some(etag) => self.replace(id, item, etag),
            None => self.create(item),
        }
    }

    /// Creates or replaces an item, whatever is there.
    pub fn upsert<T: Serialize>(self, item: &T) -> Result<Self, StoreError> {
        self.with(item, None, |batch| Ok(batch.upsert_item(item, None::<BatchUpsertOptions>)?))
    }

    /// Deletes an item. With an ETag, only an item that has not changed since.
    pub fn delete(mut self, id: &str, etag: Option<&ETag>) -> Self {
        let unchanged =
            etag.map(|etag| BatchDeleteOptions::default().with_precondition(if_match(etag)));
        self.states.push(None);
        Self { batch: self.batch.delete_item(id.to_owned(), unchanged), ..self }
    }

    fn with(
        mut self,
        item: &dyn erased_serde::Serialize,
        state: Option<Arc<Value>>,
        add: impl FnOnce(TransactionalBatch) -> Result<TransactionalBatch, StoreError>,
    ) -> Result<Self, StoreError> {
        if self.captures {
            self.documents.push(match &state {
                Some(complete) => serde_json::to_string(complete.as_ref()),
                None => serde_json::to_string(item),
            });
        }
        self.states.push(state);
        Ok(Self { batch: timed_sync(|| add(self.batch))?, ..self })
    }
}

pub(super) fn if_match(etag: &ETag) -> Precondition {
    Precondition::if_match(etag.tag().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_has_as_many_items_as_a_transaction_takes() {
        let lengths = |items: Vec<usize>| -> Vec<usize> {
            Transaction::chunks(items, |size| *size).iter().map(Vec::len).collect()
        };
        assert_eq!(lengths(vec![1; 250]), [100, 100, 50]);
        assert_eq!(lengths(vec![500_000; 4]), [3, 1]);
        assert_eq!(lengths(vec![2_000_000, 1, 2_000_000]), [1, 1, 1]);
        assert_eq!(lengths(Vec::new()), [0; 0]);
    }
}
