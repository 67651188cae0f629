//! Operations on items, as far as they can be prepared without the store's state.

use super::{
    ItemOperation, Mode, Operation, Patch, catalog::Container, definition, epk,
    record::SYSTEM_PROPERTIES,
};
use crate::{Refusal, Result, json::Json};

/// The service's limits.
const MAX_OPERATIONS: usize = 100;
const MAX_ITEM_BYTES: usize = 2 << 20;

/// An operation, as far as it could be prepared without the store.
pub(super) struct Step {
    pub id: String,
    pub action: Action,
    pub if_match: Option<String>,
    pub if_none_match: Option<String>,
}

pub(super) enum Action {
    Put { mode: Mode, body: Body, mismatch: Option<Refusal> },
    Patch(Patch),
    Delete,
    Read,
}

/// The body of an item without system properties.
pub(super) struct Body {
    pub json: Json,
    /// Without the last brace.
    pub bytes: Vec<u8>,
    pub ttl: i32,
}

/// A transaction's logical partition and steps. A step that could not be prepared is refused in its turn.
pub(super) struct Transaction {
    pub key: Vec<Json>,
    pub epk: Vec<u8>,
    pub steps: Vec<Result<Step>>,
    /// True to find items whose time to live has ended, too.
    pub sees_expired: bool,
}

impl Transaction {
    /// Prepares operations: everything that needs no state, so that the writing thread has little to do.
    pub(super) fn prepare(
        container: &Container,
        key: Option<&Json>,
        operations: Vec<ItemOperation>,
    ) -> Result<Self> {
        let definition = &container.definition;
        if operations.is_empty() || operations.len() > MAX_OPERATIONS {
            let text = format!(
                "Batch request has {} operations: there must be 1 to {MAX_OPERATIONS}.",
                operations.len()
            );
            return Err(Refusal::new(400, text));
        }
        let key = match (key, operations.first().map(|first| &first.operation)) {
            (Some(key), _) => epk::values_of_key(key, definition.key_paths.len())?,
            (None, Some(Operation::Put(_, body))) if operations.len() == 1 => {
                epk::values_of_item(body, &definition.key_paths)?
            }
            _ => return Err(incomplete_key()),
        };
        if key.len() < definition.key_paths.len() {
            return Err(incomplete_key());
        }
        let epk = epk::hash(&key, definition.hash_version);
        let steps = operations.into_iter().map(|one| Step::prepare(container, &key, one)).collect();
        Ok(Self { key, epk, steps, sees_expired: false })
    }

    /// Returns a transaction that deletes items.
    pub(super) fn deletion(key: Vec<Json>, epk: Vec<u8>, ids: Vec<String>) -> Self {
        let step =
            |id| Ok(Step { id, action: Action::Delete, if_match: None, if_none_match: None });
        Self { key, epk, steps: ids.into_iter().map(step).collect(), sees_expired: true }
    }
}

/// The refusal of a key with too few values.
pub(super) fn incomplete_key() -> Refusal {
    let text = "Partition key provided either doesn't correspond to definition in the collection or doesn't match partition key field values specified in the document. Learn more: https://aka.ms/CosmosDB/sql/errors/wrong-pk-value";
    Refusal::new(400, text).with_sub_status(1001)
}

impl Step {
    fn prepare(container: &Container, key: &[Json], given: ItemOperation) -> Result<Self> {
        let ItemOperation { operation, id, if_match, if_none_match } = given;
        let (id, action) = match operation {
            Operation::Put(mode, json) => {
                let body = Body::new(json)?;
                let own_id = body.json.get("id").and_then(Json::as_str);
                let own_id = own_id.ok_or_else(|| Refusal::new(400, definition::NO_ID))?.to_owned();
                let id = id.filter(|_| mode == Mode::Replace).unwrap_or_else(|| own_id.clone());
                if mode != Mode::Replace || id != own_id {
                    definition::check_id(&own_id)?;
                }
                let values = epk::values_of_item(&body.json, &container.definition.key_paths)?;
                let mismatch = (values != key).then(|| {
                    let text = "PartitionKey extracted from document doesn't match the one specified in the header. Learn more: https://aka.ms/CosmosDB/sql/errors/wrong-pk-value";
                    Refusal::new(400, text).with_sub_status(1001)
                });
                (Some(id), Action::Put { mode, body, mismatch })
            }
            Operation::Patch(patch) => (id, Action::Patch(patch)),
            Operation::Delete => (id, Action::Delete),
            Operation::Read => (id, Action::Read),
        };
        let id = id.ok_or_else(|| Refusal::new(400, "The operation has no id."))?;
        Ok(Self { id, action, if_match, if_none_match })
    }
}

impl Body {
    pub(super) fn new(mut json: Json) -> Result<Self> {
        let Json::Object(properties) = &mut json else {
            return Err(Refusal::new(400, "The input content is invalid: an item is an object."));
        };
        properties.retain(|(name, _)| !SYSTEM_PROPERTIES.contains(&name.as_ref()));
        let mut bytes = Vec::new();
        json.write(&mut bytes);
        if bytes.len() > MAX_ITEM_BYTES {
            return Err(Refusal::new(413, "Request size is too large"));
        }
        bytes.pop();
        let ttl = match json.get("ttl") {
            None => 0,
            Some(ttl) => ttl_of(ttl).ok_or_else(|| definition::bad_ttl(ttl))?,
        };
        Ok(Self { json, bytes, ttl })
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a number outside is none of those allowed")]
fn ttl_of(ttl: &Json) -> Option<i32> {
    let number = ttl.as_f64().filter(|number| number.fract() == 0.0)?;
    definition::is_ttl(number as i64).then_some(number as i32)
}
