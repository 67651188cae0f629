//! Dead letters: changes that can never be applied, kept for a person to look at.

use std::sync::Arc;

use custom_handler::Document;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Projection;
use crate::{
    cosmos::{Container, Cosmos, StoreError},
    values::Timestamp,
};

/// How much of a document a dead letter keeps, in bytes. Escaped as a string it must fit into an
/// item of 2 MB; the whole document is still in its container.
const MAX_RAW: usize = 512 * 1024;

/// A change that was not applied.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// Made from the function and the document, so that a batch delivered twice leaves one.
    pub id: String,
    /// The function that could not apply it; the partition key.
    pub function: String,
    /// The id of the document, when it could be read.
    pub document_id: Option<String>,
    /// The document's partition key, when it could be read.
    pub partition_key: Option<String>,
    /// The document as it was delivered.
    pub raw: String,
    /// Whether `raw` was cut.
    pub raw_truncated: bool,
    /// Why it was not applied.
    pub reason: String,
    /// The invocation that gave up.
    pub invocation_id: String,
    /// When it gave up.
    pub failed_at: Timestamp,
}

impl DeadLetter {
    /// A dead letter for a change that `P` could not apply.
    pub fn new<P: Projection>(invocation_id: &str, document: &Document, reason: String) -> Self {
        let fields: Map<String, Value> = document.parse().unwrap_or_default();
        let field = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let function = P::FUNCTION;
        let raw = document.raw();
        let name = format!("{function} {raw}");
        let kept = raw.floor_char_boundary(MAX_RAW);
        Self {
            id: Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string(),
            function: function.to_owned(),
            document_id: field("id"),
            partition_key: field(P::PARTITION_KEY),
            raw: raw[..kept].to_owned(),
            raw_truncated: kept < raw.len(),
            reason,
            invocation_id: invocation_id.to_owned(),
            failed_at: Timestamp::now(),
        }
    }
}

/// The container of dead letters.
#[derive(Clone)]
pub struct DeadLetters(Container);

impl DeadLetters {
    /// The dead letters of a database.
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        Self(cosmos.container("dead-letters"))
    }

    /// The container, to look it up early.
    pub fn container(&self) -> &Container {
        &self.0
    }

    /// Stores a dead letter. Only then may its change be acknowledged.
    pub async fn store(&self, letter: DeadLetter) -> Result<(), StoreError> {
        self.0.upsert(&letter.function, &letter.id, &letter).await?;
        tracing::warn!(
            document.id = letter.document_id,
            dead_letter.id = letter.id,
            reason = letter.reason,
            "Stored a change as a dead letter"
        );
        Ok(())
    }
}
