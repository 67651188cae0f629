//! Dead letters: changes that could not be applied, kept for an operator.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc, time::Duration};

use custom_handler::Document;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use uuid::Uuid;

use super::AnyProjection;
use crate::{
    cosmos::{Container, Cosmos, ETag, Query, Reason, Scope, StoreError, Stored, Transaction},
    values::{CommandId, Timestamp, check_id, checked_text, may_be_rewritten_by_host},
};

checked_text!(
    /// The id of a dead letter, as [`DeadLetter::id`] says.
    DeadLetterId,
    "CopyRooms.0d4f5c2a-6e1b-5f38-9a77-2c8e4b1d6f03",
    |text| check_id(&text).map(|()| text)
);

/// A change that was not applied.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The function, a dot, and a UUID that is derived from the partition key and the id of the document: one dead
    /// letter for each, however often it is delivered. The id names the logical partition of the dead letter.
    #[schemars(with = "DeadLetterId")]
    pub id: String,
    /// The function that could not apply it; the partition key.
    #[schemars(example = &"CopyRooms")]
    pub function: String,
    /// The container of the document. Dead letters of older versions of the app have none.
    #[schemars(example = &"rooms")]
    pub container: Option<String>,
    /// The id of the document, when it could be read.
    #[schemars(example = "room-204")]
    pub document_id: Option<String>,
    /// The document's partition key, when it could be read.
    #[schemars(example = "building-2")]
    pub partition_key: Option<String>,
    /// The document as it was delivered last, without the secrets of its container.
    #[schemars(example = "{\"id\":\"room-204\",\"buildingId\":\"building-2\"}")]
    pub raw: String,
    /// True if `raw` was cut.
    pub raw_truncated: bool,
    /// The reason for which it was not applied.
    #[schemars(example = "missing field `name`")]
    pub reason: String,
    /// The invocation that gave up last.
    #[schemars(example = "5a1f0c9e-2b7d-4e63-8f10-9c4d2a6b7e35")]
    pub invocation_id: String,
    /// The time of the last failure.
    pub failed_at: Timestamp,
}

impl DeadLetter {
    /// Escaped as a string, they must fit into an item of 2 MB.
    pub(crate) const MAX_RAW_BYTES: usize = 512 * 1024;

    /// The most bytes of the reason that a dead letter keeps: an error may quote the document.
    const MAX_REASON_BYTES: usize = 2 * 1024;

    /// The texts, of which JSON may escape each character, and the other fields.
    pub(crate) const MAX_SUMMARY_BYTES: usize =
        6 * (Self::MAX_REASON_BYTES + 1_023 + 2_048) + 1_024;

    pub(crate) fn new(
        projection: &dyn AnyProjection,
        invocation_id: &str,
        document: &Document,
        reason: String,
    ) -> Self {
        let fields: Map<String, Value> = document.parse().unwrap_or_default();
        let field = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let document_id = field("id");
        let partition_key = field(projection.partition_key());
        let name = match (&partition_key, &document_id) {
            (Some(partition), Some(id)) => format!("{} {partition} {id}", partition.len()),
            _ => document.raw().to_owned(),
        };
        let function = projection.function();
        Self {
            id: format!("{function}.{}", Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())),
            function: function.to_owned(),
            container: Some(projection.container_id().to_owned()),
            document_id,
            partition_key,
            raw: String::new(),
            raw_truncated: false,
            reason: beginning(reason, Self::MAX_REASON_BYTES),
            invocation_id: invocation_id.to_owned(),
            failed_at: Timestamp::now(),
        }
        .with_document(document, projection.secrets())
    }

    pub(super) fn failed_again(self, reason: String, invocation_id: &str) -> Self {
        let reason = beginning(reason, Self::MAX_REASON_BYTES);
        let invocation_id = invocation_id.to_owned();
        Self { reason, invocation_id, failed_at: Timestamp::now(), ..self }
    }

    pub(super) fn with_document(&self, document: &Document, secrets: &[&str]) -> Self {
        let raw = without(document, secrets);
        let kept = raw.floor_char_boundary(Self::MAX_RAW_BYTES);
        Self { raw: raw[..kept].to_owned(), raw_truncated: kept < raw.len(), ..self.clone() }
    }

    /// Returns `None` if they are missing, or if the Functions host may have rewritten one of them.
    pub(super) fn document_key(&self) -> Option<(&str, &str)> {
        let key = (self.partition_key.as_deref()?, self.document_id.as_deref()?);
        let sound = |text| !may_be_rewritten_by_host(text);
        (sound(key.0) && sound(key.1)).then_some(key)
    }

    /// Returns true if the document is a tombstone: only tombstones have a time to live.
    pub(super) fn is_of_tombstone(&self) -> bool {
        let fields: Map<String, Value> = serde_json::from_str(&self.raw).unwrap_or_default();
        fields.get("ttl").is_some_and(Value::is_u64)
    }
}

/// Empty if secrets are to be removed and the document is no JSON object.
fn without<'a>(document: &'a Document, secrets: &[&str]) -> Cow<'a, str> {
    if secrets.is_empty() {
        return document.raw().into();
    }
    match document.parse::<BTreeMap<String, Box<RawValue>>>() {
        Ok(mut properties) => {
            properties.retain(|name, _| !secrets.contains(&name.as_str()));
            serde_json::to_string(&properties).unwrap_or_default().into()
        }
        Err(_) => Cow::default(),
    }
}

fn beginning(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}

const SETTLEMENT_TTL: Duration = CommandId::REPEATED_FOR;

/// The outcome of a replay that settles its dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReplayOutcome")]
pub(crate) enum ReplayOutcome {
    /// Copies were written.
    Applied,
    /// The copies were up to date, or newer.
    Unchanged,
    /// The document does not exist any more: there is nothing to copy.
    Gone,
}

/// The record of a command that has settled a dead letter, for its repetitions by the host. It is an item of its own,
/// since the change may fail again meanwhile.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Settlement {
    id: String,
    function: String,
    pub command: CommandId,
    pub outcome: Option<ReplayOutcome>,
    ttl: u64,
}

impl Settlement {
    fn new(letter: &DeadLetter, command: &CommandId, outcome: Option<ReplayOutcome>) -> Self {
        Self {
            id: Self::id(&letter.id),
            function: letter.function.clone(),
            command: command.clone(),
            outcome,
            ttl: SETTLEMENT_TTL.as_secs(),
        }
    }

    fn id(letter: &str) -> String {
        format!("{letter}~settled")
    }
}

pub(crate) fn function_of(id: &str) -> Option<&str> {
    id.split_once('.').map(|(function, _)| function).filter(|function| !function.is_empty())
}

/// The container of dead letters. Cloning is cheap.
#[derive(Clone)]
pub struct DeadLetters(Container);

impl DeadLetters {
    /// Creates the handle on the dead letters of a database.
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        Self(cosmos.container("dead-letters"))
    }

    pub(crate) fn container(&self) -> &Container {
        &self.0
    }

    /// Stores a dead letter. Its change may be acknowledged only after that.
    pub(crate) async fn store(&self, letter: &DeadLetter) -> Result<(), StoreError> {
        self.0.upsert(&letter.function, &letter.id, letter).await?;
        tracing::warn!(
            container = letter.container,
            document.id = letter.document_id,
            dead_letter.id = letter.id,
            reason = letter.reason,
            "Stored a change as a dead letter"
        );
        Ok(())
    }

    pub(crate) async fn read(&self, id: &str) -> Result<Option<Stored<DeadLetter>>, StoreError> {
        let Some(function) = function_of(id) else { return Ok(None) };
        self.0.read(function, id).await
    }

    pub(crate) async fn count_since(
        &self,
        function: &str,
        since: Timestamp,
        most: u32,
    ) -> Result<u32, StoreError> {
        let text = format!("SELECT TOP {most} VALUE c.id FROM c WHERE c.failedAt >= @since");
        let query = Query::from(text).with_parameter("@since", since)?;
        let ids: Vec<String> = self.0.query(query, Scope::Partition(function), most).await?;
        Ok(u32::try_from(ids.len()).unwrap_or(u32::MAX))
    }

    pub(crate) async fn replace(&self, letter: &DeadLetter, etag: &ETag) -> Result<(), StoreError> {
        self.0.replace(&letter.function, &letter.id, letter, etag).await.map(drop)
    }

    pub(crate) async fn settle(
        &self,
        letter: &Stored<DeadLetter>,
        command: &CommandId,
        outcome: Option<ReplayOutcome>,
    ) -> Result<(), StoreError> {
        let Stored { item: letter, etag } = letter;
        let transaction = Transaction::new(&letter.function)
            .delete(&letter.id, Some(etag))
            .upsert(&Settlement::new(letter, command, outcome))?;
        self.0.transact(transaction).await.map(drop).map_err(|refusal| match refusal.error {
            // Settled meanwhile, perhaps by this command. The next attempt decides.
            error if error.reason == Reason::NotFound => StoreError::race(error.answer_lost),
            error => error,
        })
    }

    /// One transaction replaces a dead letter by its settlement, so callers read the dead letter first.
    pub(crate) async fn settled(
        &self,
        id: &str,
        command: &CommandId,
    ) -> Result<Option<Settlement>, StoreError> {
        let Some(function) = function_of(id) else { return Ok(None) };
        let settlement = self.0.read::<Settlement>(function, &Settlement::id(id)).await?;
        Ok(settlement.map(|stored| stored.item).filter(|settlement| settlement.command == *command))
    }
}
