//! Operations on one item.

use std::borrow::Cow;

use cosmos_model::charges::{items::WriteScope, rates};
use http::Method;

use super::{
    Kind, Service,
    address::{Container, is_rid},
    answer::Answer,
    call::{Call, name},
    charge::{self, LOOKUP_RU},
    scope::Scope,
};
use crate::{
    Refusal, Result,
    engine::{Condition, ItemOperation, Mode, Operation, Patch, View, not_found},
    json::Json,
    sql::Prepared,
};

/// The most bytes of an item as it is sent: <https://learn.microsoft.com/azure/cosmos-db/concepts-limits>.
const MAX_ITEM_BYTES: usize = 2 * 1024 * 1024;

impl Service {
    pub(super) fn read(call: &Call, container: &Container, id: &str) -> Result<Answer> {
        let view = &call.view;
        let scope = Scope::of_key(view, container, required_key(call)?)?;
        scope.check_session(call)?;
        let Some(key) = &scope.key else { return Err(no_key()) };
        let mut item = view.read(container.id, key, id)?;
        if item.is_none() && is_rid(id) {
            let by_id = id_of(view, container, &scope, id);
            item = by_id.map_or(Ok(None), |id| view.read(container.id, key, &id))?;
        }
        let answer = match item {
            None => Answer::refusal(&not_found()).charge(LOOKUP_RU),
            Some(item) => {
                let known = call.header(name::IF_NONE_MATCH);
                let answer = if known.is_some_and(|known| known == item.etag || known == "*") {
                    Answer::new(304).count(0).charge(LOOKUP_RU)
                } else {
                    let mut answer = Answer::new(200).charge(rates::read(item.body.len()));
                    answer.body = item.body;
                    answer.touched.work.items_loaded = 1;
                    answer.touched.items_returned = 1;
                    answer
                };
                answer.etag(&item.etag).item_lsn(item.lsn)
            }
        };
        Ok(answer.scope(&scope))
    }

    pub(super) async fn write(
        &self,
        call: &Call,
        container: &Container,
        kind: Kind,
        id: Option<&str>,
    ) -> Result<Answer> {
        let view = &call.view;
        let key = call.key()?;
        if key.is_none() && !matches!(kind, Kind::Create | Kind::Upsert) {
            return Err(no_key());
        }
        for kind in ["pre", "post"] {
            let header = format!("x-ms-documentdb-{kind}-trigger-include");
            if let Some(name) = call.header(&header) {
                let message = format!("This store has no triggers, and the request names {name}.");
                return Err(Refusal::new(400, message));
            }
        }
        let id = match (id, &key) {
            (Some(id), Some(key)) if is_rid(id) && view.read(container.id, key, id)?.is_none() => {
                let scope = Scope::of_key(view, container, key.clone())?;
                Some(id_of(view, container, &scope, id).map_or(Cow::Borrowed(id), Cow::Owned))
            }
            (id, _) => id.map(Cow::Borrowed),
        };
        if call.body().len() > MAX_ITEM_BYTES {
            return Err(Refusal::new(413, "Request size is too large"));
        }
        let body = if *call.method() == Method::DELETE { Json::Null } else { call.json()? };
        let (operation, n_patches) = operation(kind, body)?;
        let operation = ItemOperation {
            operation,
            id: id.map(Cow::into_owned),
            if_match: call.header(name::IF_MATCH).map(str::to_owned),
            if_none_match: call.header(name::IF_NONE_MATCH).map(str::to_owned),
        };
        let committed = self.engine.transact(container.id, key.as_ref(), vec![operation]).await?;
        let (partition, lsn) = (committed.partition, committed.lsn);
        let answer = match committed.into_one() {
            Ok(done) => {
                let policy = &container.definition.policy;
                let charge = charge::operation(kind, &done, n_patches, WriteScope::Request, policy);
                let mut answer = Answer::new(done.status).charge(charge);
                if let Some(item) = done.item {
                    answer = answer.etag(&item.etag).item_lsn(item.lsn);
                    if !call.wants_no_content() {
                        answer.body = item.body;
                    }
                }
                answer
            }
            Err(refusal) => Answer::refusal(&refusal).charge(LOOKUP_RU),
        };
        Ok(answer.partition(partition, lsn))
    }

    /// Deletes all items of a logical partition.
    pub(super) async fn delete_partition(&self, call: &Call, of: &Container) -> Result<Answer> {
        let key = required_key(call)?;
        self.engine.delete_partition(of.id, &key).await?;
        let scope = Scope::of_key(&self.engine.view(), of, key)?;
        Ok(Answer::new(200).scope(&scope))
    }
}

/// Makes an operation of the body of a request, with the number of operations of a patch.
pub(super) fn operation(kind: Kind, body: Json) -> Result<(Operation, u32)> {
    let operation = match kind {
        Kind::Create => Operation::Put(Mode::Create, body),
        Kind::Upsert => Operation::Put(Mode::Upsert, body),
        Kind::Replace => Operation::Put(Mode::Replace, body),
        Kind::Delete => Operation::Delete,
        Kind::Read => Operation::Read,
        Kind::Patch => {
            let patch = patch(body)?;
            let n_patches = u32::try_from(patch.operations.len()).unwrap_or(u32::MAX);
            return Ok((Operation::Patch(patch), n_patches));
        }
        _ => return Err(Refusal::new(400, "An item has no such operation.")),
    };
    Ok((operation, 0))
}

/// Reads a patch. The JavaScript SDK sends the operations alone, if there is no condition.
fn patch(body: Json) -> Result<Patch> {
    let bad = || Refusal::new(400, "The patch is malformed: it has no array of operations.");
    let (operations, condition) = match body {
        Json::Array(operations) => (operations, None),
        Json::Object(properties) => {
            let mut operations = None;
            let mut condition = None;
            for (name, value) in properties {
                match (name.as_ref(), value) {
                    ("operations", Json::Array(all)) => operations = Some(all),
                    ("condition", Json::Text(text)) => condition = Some(text),
                    _ => {}
                }
            }
            (operations.ok_or_else(bad)?, condition)
        }
        _ => return Err(bad()),
    };
    let condition = condition.map(|text| condition_of(&text)).transpose()?;
    Ok(Patch { operations, condition })
}

/// Reads the condition of a patch: `from c where c.n = 4`, a query without SELECT.
fn condition_of(text: &str) -> Result<Condition> {
    let query = Prepared::new(&format!("SELECT VALUE 1 {text}"), Vec::new())?;
    Ok(Box::new(move |item| Ok(!query.rows(item)?.is_empty())))
}

/// Returns the id of the item that has a `_rid` in a logical partition.
fn id_of(view: &View, container: &Container, scope: &Scope, rid: &str) -> Option<String> {
    let pattern = format!("\"_rid\":\"{rid}\"");
    let has_rid = |body: &[u8]| body.windows(pattern.len()).any(|it| it == pattern.as_bytes());
    let mut items = view.scan(container.id, &scope.range, None);
    let found = items.find(|item| has_rid(&item.body))?;
    Some(Json::parse_only(&found.body, &["id"]).ok()?.get("id")?.as_str()?.to_owned())
}

pub(super) fn required_key(call: &Call) -> Result<Json> {
    call.key()?.ok_or_else(no_key)
}

fn no_key() -> Refusal {
    Refusal::new(400, "PartitionKey value must be supplied for this operation.")
}
