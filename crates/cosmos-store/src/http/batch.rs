//! Batches: transactional ones, and bulk, in JSON and in the HybridRow of the .NET SDK.

use cosmos_model::charges::items::WriteScope;
use futures::future::join_all;
use serde_json::json;

use super::{
    Kind, Service,
    address::Container,
    answer::Answer,
    call::Call,
    charge::{self, LOOKUP_RU},
    hybrid_row::{self, Outcome},
    items,
    scope::{Scope, gone, overlap},
};
use crate::{
    Refusal, Result,
    engine::{Committed, Done, EpkRange, ItemOperation, Lsn},
    json::Json,
};

/// The most operations of a batch, and its most bytes: <https://learn.microsoft.com/azure/cosmos-db/concepts-limits>.
pub(super) const MAX_OPERATIONS: usize = 100;
const MAX_BYTES: usize = 2 * 1024 * 1024 + 100 * 1024;

struct BatchOperation {
    head: Head,
    key: Option<Json>,
    operation: ItemOperation,
}

/// What the charge and the form of an operation's result depend on.
#[derive(Clone, Copy)]
struct Head {
    kind: Kind,
    n_patches: u32,
    minimal: bool,
}

/// The result of an operation, with its charge.
struct Charged {
    result: Result<Done>,
    charge: f64,
    minimal: bool,
}

impl Head {
    fn charged(self, result: Result<Done>, scope: WriteScope, container: &Container) -> Charged {
        let charge = match &result {
            Ok(done) => {
                let policy = &container.definition.policy;
                charge::operation(self.kind, done, self.n_patches, scope, policy)
            }
            Err(refusal) if refusal.status == 424 => 0.0,
            Err(_) => LOOKUP_RU,
        };
        Charged { result, charge, minimal: self.minimal }
    }
}

impl Service {
    /// Answers a batch whose operations are all carried out or none.
    pub(super) async fn batch(&self, call: &Call, container: &Container) -> Result<Answer> {
        let (operations, is_row) = read(call)?;
        let key = items::required_key(call)?;
        let (heads, all): (Vec<Head>, _) =
            operations.into_iter().map(|one| (one.head, one.operation)).unzip();
        let committed = self.engine.transact(container.id, Some(&key), all).await?;
        let results = heads.into_iter().zip(committed.results);
        let charged = results
            .map(|(head, result)| head.charged(result, WriteScope::Transaction, container))
            .collect();
        Ok(answer(call, charged, is_row).partition(committed.partition, committed.lsn))
    }

    /// Answers a batch whose operations are carried out each for itself.
    pub(super) async fn bulk(&self, call: &Call, container: &Container) -> Result<Answer> {
        let (operations, is_row) = read(call)?;
        let scope = Scope::new(call, container)?;
        let one = |operation| self.one(call, container, &scope.range, operation);
        let all = if call.is("x-ms-cosmos-batch-continue-on-error") {
            join_all(operations.into_iter().map(one)).await
        } else {
            let mut all = Vec::with_capacity(operations.len());
            let mut has_failed = false;
            for operation in operations {
                let done = if has_failed {
                    let failed = Refusal::new(424, "Another operation of the batch failed.");
                    (operation.head.charged(Err(failed), WriteScope::Request, container), None)
                } else {
                    one(operation).await
                };
                has_failed |= done.0.result.is_err();
                all.push(done);
            }
            all
        };
        let (charged, ends): (_, Vec<_>) = all.into_iter().unzip();
        let answer = answer(call, charged, is_row);
        Ok(match ends.into_iter().flatten().max() {
            Some((partition, lsn)) => answer.partition(partition, lsn),
            None => answer.scope(&scope),
        })
    }

    /// Carries out an operation of a bulk request, which has to be within the range of the request.
    async fn one(
        &self,
        call: &Call,
        container: &Container,
        range: &EpkRange,
        operation: BatchOperation,
    ) -> (Charged, Option<(u32, Lsn)>) {
        let BatchOperation { head, key, operation } = operation;
        let of_key = key.as_ref().map(|key| call.view.range_of(container.id, key)).transpose();
        let committed = match of_key {
            Err(refusal) => Err(refusal),
            Ok(Some(of_key)) if !overlap(&of_key, range) => Err(gone()),
            Ok(_) => self.engine.transact(container.id, key.as_ref(), vec![operation]).await,
        };
        let end = committed.as_ref().ok().map(|one| (one.partition, one.lsn));
        let result = committed.and_then(Committed::into_one);
        (head.charged(result, WriteScope::Request, container), end)
    }
}

/// Reads the operations of a batch; true for those in HybridRow, which the answer is to have, too.
fn read(call: &Call) -> Result<(Vec<BatchOperation>, bool)> {
    let body = call.body();
    if body.len() > MAX_BYTES {
        return Err(Refusal::new(413, "Request size is too large"));
    }
    let is_row = hybrid_row::is_hybrid_row(body);
    let operations: Vec<_> = if is_row {
        hybrid_row::read(body)?.into_iter().map(from_row).collect::<Result<_, _>>()?
    } else {
        let Json::Array(all) = Json::parse(body)? else {
            return Err(Refusal::new(400, "The batch request is invalid: it is no array."));
        };
        all.into_iter().map(from_json).collect::<Result<_, _>>()?
    };
    match operations.len() {
        0 => Err(Refusal::new(400, "Batch request has no operations.")),
        1..=MAX_OPERATIONS => Ok((operations, is_row)),
        _ => Err(Refusal::new(400, "Batch request has more operations than what is supported.")),
    }
}

fn from_row(row: hybrid_row::Operation) -> Result<BatchOperation> {
    let hybrid_row::Operation { kind, id, if_match, if_none_match, minimal, .. } = row;
    let has_body = !matches!(kind, Kind::Read | Kind::Delete);
    let body = if has_body { Json::parse(&row.body)? } else { Json::Null };
    let (operation, n_patches) = items::operation(kind, body)?;
    let operation = ItemOperation { operation, id, if_match, if_none_match };
    let key = row.partition_key.map(|key| Json::parse(key.as_bytes())).transpose()?;
    Ok(BatchOperation { head: Head { kind, n_patches, minimal }, key, operation })
}

fn from_json(mut json: Json) -> Result<BatchOperation> {
    let mut take = |name: &str| {
        let Json::Object(properties) = &mut json else { return None };
        let place = properties.iter().rposition(|(found, _)| **found == *name)?;
        Some(properties.swap_remove(place).1)
    };
    let kind = match take("operationType").as_ref().and_then(Json::as_str) {
        Some("Create") => Kind::Create,
        Some("Upsert") => Kind::Upsert,
        Some("Replace") => Kind::Replace,
        Some("Patch") => Kind::Patch,
        Some("Delete") => Kind::Delete,
        Some("Read") => Kind::Read,
        _ => {
            let text = "An operation of the batch has no known operationType.";
            return Err(Refusal::new(400, text));
        }
    };
    let (operation, n_patches) =
        items::operation(kind, take("resourceBody").unwrap_or(Json::Null))?;
    // The JavaScript SDK writes the array as a text.
    let key = match take("partitionKey") {
        Some(Json::Text(text)) => Some(Json::parse(text.as_bytes())?),
        key => key,
    };
    let mut text = |name| take(name)?.as_str().map(str::to_owned);
    let [id, if_match, if_none_match] = ["id", "ifMatch", "ifNoneMatch"].map(&mut text);
    let operation = ItemOperation { operation, id, if_match, if_none_match };
    Ok(BatchOperation { head: Head { kind, n_patches, minimal: false }, key, operation })
}

fn answer(call: &Call, all: Vec<Charged>, is_row: bool) -> Answer {
    let is_good = |one: &Charged| one.result.as_ref().is_ok_and(|done| done.status < 300);
    let mut answer = Answer::new(if all.iter().all(is_good) { 200 } else { 207 });
    answer.charge = all.iter().map(|one| one.charge).sum();
    answer.touched.items_returned = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let all_minimal = call.wants_no_content();
    let outcomes = all.into_iter().map(|Charged { result, charge, minimal }| {
        let charge = (charge * 100.0).round() / 100.0;
        match result {
            Ok(done) => {
                let item = done.item.filter(|_| done.status != 304);
                let etag = item.as_ref().map(|item| item.etag.clone());
                let body = item.filter(|_| !minimal && !all_minimal).map(|item| item.body.to_vec());
                Outcome { status: done.status, etag, body, charge, ..Outcome::default() }
            }
            Err(Refusal { status, sub_status, message }) => {
                let body = (is_row && status != 424)
                    .then(|| json!({"message": message}).to_string().into_bytes());
                Outcome { status, sub_status, body, charge, ..Outcome::default() }
            }
        }
    });
    if is_row {
        answer.body = hybrid_row::write(&outcomes.collect::<Vec<_>>()).into();
        return answer.header("content-type", "application/octet-stream");
    }
    let all: Vec<String> = outcomes.map(json_of).collect();
    answer.body = format!("[{}]", all.join(",")).into();
    answer
}

fn json_of(outcome: Outcome) -> String {
    let mut json = json!({"statusCode": outcome.status, "requestCharge": outcome.charge});
    if outcome.sub_status != 0 {
        json["subStatusCode"] = json!(outcome.sub_status);
    }
    if let Some(etag) = outcome.etag {
        json["eTag"] = json!(etag);
    }
    let mut text = json.to_string();
    // The body is JSON already, and keeps the order of its properties.
    if let Some(body) = outcome.body.and_then(|body| String::from_utf8(body).ok()) {
        text.pop();
        text.push_str(",\"resourceBody\":");
        text.push_str(&body);
        text.push('}');
    }
    text
}
