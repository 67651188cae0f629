//! Batches: transactional ones, and bulk, in JSON and in the HybridRow of the .NET SDK.

use cosmos_model::charges::items::WriteScope;
use futures::future::join_all;
use serde_json::{json, value::RawValue};

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
    Refusal,
    engine::{Committed, Done, EpkRange, ItemOperation, Lsn, View},
    json::Json,
};

/// The most operations of a batch, and its most bytes: <https://learn.microsoft.com/azure/cosmos-db/concepts-limits>.
pub(super) const MAX_OPERATIONS: usize = 100;
const MAX_BYTES: usize = 2 * 1024 * 1024 + 100 * 1024;

/// An operation of a batch.
struct BatchOperation {
    kind: Kind,
    key: Option<Json>,
    operation: ItemOperation,
    n_patches: u32,
    minimal: bool,
}

/// The result of an operation, with its charge.
type Charged = (Result<Done, Refusal>, f64);

impl Service {
    /// Answers a batch whose operations are all carried out or none.
    pub(super) async fn batch(
        &self,
        call: &Call,
        container: &Container,
    ) -> Result<Answer, Refusal> {
        let (operations, form) = read(call)?;
        let key = items::required_key(call)?;
        let policy = &container.definition.policy;
        let mut heads = Vec::with_capacity(operations.len());
        let mut all = Vec::with_capacity(operations.len());
        for BatchOperation { kind, operation, n_patches, minimal, .. } in operations {
            heads.push((kind, n_patches, minimal));
            all.push(operation);
        }
        let Committed { results, partition, lsn } =
            self.engine.transact(container.id, Some(&key), all).await?;
        let is_done = results.iter().all(Result::is_ok);
        let charged =
            results.into_iter().zip(&heads).map(|(result, (kind, n_patches, _))| match result {
                Ok(done) if is_done => {
                    let scope = WriteScope::Transaction;
                    let charge = charge::operation(*kind, &done, *n_patches, scope, policy);
                    (Ok(done), charge)
                }
                Ok(_) => (Err(failed_dependency()), 0.0),
                Err(refusal) if refusal.status == 424 => (Err(refusal), 0.0),
                Err(refusal) => (Err(refusal), LOOKUP_RU),
            });
        let charged: Vec<Charged> = charged.collect();
        let minimal = heads.iter().map(|(_, _, minimal)| *minimal).collect();
        Ok(form.answer(call, charged, minimal).partition(partition, lsn))
    }

    /// Answers a batch whose operations are carried out each for itself.
    pub(super) async fn bulk(
        &self,
        view: &View,
        call: &Call,
        container: &Container,
    ) -> Result<Answer, Refusal> {
        let (operations, form) = read(call)?;
        let scope = Scope::new(view, container, call)?;
        let minimal = operations.iter().map(|operation| operation.minimal).collect();
        let mut charged = Vec::with_capacity(operations.len());
        let mut end: Option<(u32, Lsn)> = None;
        let mut add = |(one, committed): (Charged, Option<(u32, Lsn)>)| {
            end = end.max(committed);
            charged.push(one);
        };
        if call.is("x-ms-cosmos-batch-continue-on-error") {
            let all = operations.into_iter();
            let all = all.map(|operation| self.one(view, container, &scope.range, operation));
            join_all(all).await.into_iter().for_each(add);
        } else {
            let mut failed = false;
            for operation in operations {
                if failed {
                    add(((Err(failed_dependency()), 0.0), None));
                    continue;
                }
                let one = self.one(view, container, &scope.range, operation).await;
                failed = one.0.0.is_err();
                add(one);
            }
        }
        let answer = form.answer(call, charged, minimal);
        Ok(match end {
            Some((partition, lsn)) => answer.partition(partition, lsn),
            None => answer.scope(&scope),
        })
    }

    /// Carries out an operation of a bulk request, which has to be within the range of the request.
    async fn one(
        &self,
        view: &View,
        container: &Container,
        range: &EpkRange,
        operation: BatchOperation,
    ) -> (Charged, Option<(u32, Lsn)>) {
        let BatchOperation { kind, key, operation, n_patches, .. } = operation;
        let refused = |refusal| ((Err(refusal), LOOKUP_RU), None);
        match key.as_ref().map(|key| view.range_of(container.id, key)) {
            Some(Err(refusal)) => return refused(refusal),
            Some(Ok(of_key)) if !overlap(&of_key, range) => return refused(gone()),
            _ => {}
        }
        match self.engine.transact(container.id, key.as_ref(), vec![operation]).await {
            Err(refusal) => refused(refusal),
            Ok(Committed { results, partition, lsn }) => {
                let result = results
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| Err(Refusal::new(500, "The store gave no result.")));
                let charge = match &result {
                    Ok(done) => {
                        let policy = &container.definition.policy;
                        charge::operation(kind, done, n_patches, WriteScope::Request, policy)
                    }
                    Err(_) => LOOKUP_RU,
                };
                ((result, charge), Some((partition, lsn)))
            }
        }
    }
}

/// Reads the operations of a batch, and the form in which the answer is to be.
fn read(call: &Call) -> Result<(Vec<BatchOperation>, Form), Refusal> {
    let body = call.body();
    if body.len() > MAX_BYTES {
        return Err(Refusal::new(413, "Request size is too large"));
    }
    let (operations, form) = if hybrid_row::is_hybrid_row(body) {
        let rows = hybrid_row::read(body)?;
        (rows.into_iter().map(from_row).collect::<Result<Vec<_>, _>>()?, Form::Row)
    } else {
        let Json::Array(all) = Json::parse(body)? else {
            return Err(Refusal::new(400, "The batch request is invalid: it is no array."));
        };
        (all.into_iter().map(from_json).collect::<Result<Vec<_>, _>>()?, Form::Json)
    };
    match operations.len() {
        0 => Err(Refusal::new(400, "Batch request has no operations.")),
        1..=MAX_OPERATIONS => Ok((operations, form)),
        _ => Err(Refusal::new(400, "Batch request has more operations than what is supported.")),
    }
}

fn from_row(row: hybrid_row::Operation) -> Result<BatchOperation, Refusal> {
    let hybrid_row::Operation { kind, id, if_match, if_none_match, minimal, .. } = row;
    let has_body = !matches!(kind, Kind::Read | Kind::Delete);
    let body = if has_body { Json::parse(&row.body)? } else { Json::Null };
    let (operation, n_patches) = items::operation(kind, body)?;
    let operation = ItemOperation { operation, id, if_match, if_none_match };
    let key = row.partition_key.map(|key| Json::parse(key.as_bytes())).transpose()?;
    Ok(BatchOperation { kind, key, operation, n_patches, minimal })
}

fn from_json(json: Json) -> Result<BatchOperation, Refusal> {
    let Json::Object(properties) = json else {
        return Err(Refusal::new(400, "An operation of the batch is no object."));
    };
    let text = |value| match value {
        Json::Text(text) => Some(text.into_string()),
        _ => None,
    };
    let mut kind = None;
    let mut body = Json::Null;
    let mut key = None;
    let [mut id, mut if_match, mut if_none_match] = [const { None }; 3];
    for (name, value) in properties {
        match name.as_ref() {
            "operationType" => kind = value.as_str().and_then(kind_of),
            "id" => id = text(value),
            "ifMatch" => if_match = text(value),
            "ifNoneMatch" => if_none_match = text(value),
            "resourceBody" => body = value,
            // The JavaScript SDK writes the array as a text.
            "partitionKey" => {
                key = Some(match value {
                    Json::Text(text) => Json::parse(text.as_bytes())?,
                    value => value,
                });
            }
            _ => {}
        }
    }
    let Some(kind) = kind else {
        return Err(Refusal::new(400, "An operation of the batch has no known operationType."));
    };
    let (operation, n_patches) = items::operation(kind, body)?;
    let operation = ItemOperation { operation, id, if_match, if_none_match };
    Ok(BatchOperation { kind, key, operation, n_patches, minimal: false })
}

fn kind_of(name: &str) -> Option<Kind> {
    Some(match name {
        "Create" => Kind::Create,
        "Upsert" => Kind::Upsert,
        "Replace" => Kind::Replace,
        "Patch" => Kind::Patch,
        "Delete" => Kind::Delete,
        "Read" => Kind::Read,
        _ => return None,
    })
}

fn failed_dependency() -> Refusal {
    Refusal::new(424, "Another operation of the batch failed.")
}

/// The form of a batch and its answer.
#[derive(Clone, Copy)]
enum Form {
    Json,
    Row,
}

impl Form {
    fn answer(self, call: &Call, results: Vec<Charged>, minimal: Vec<bool>) -> Answer {
        let is_good =
            |result: &Result<Done, _>| result.as_ref().is_ok_and(|done| done.status < 300);
        let are_good = results.iter().all(|(result, _)| is_good(result));
        let mut answer = Answer::new(if are_good { 200 } else { 207 });
        answer.charge = results.iter().map(|(_, charge)| charge).sum();
        answer.touched.items_returned = u32::try_from(results.len()).unwrap_or(u32::MAX);
        let all_minimal = call.wants_no_content();
        let outcomes = results.into_iter().zip(minimal).map(|((result, charge), minimal)| {
            let charge = (charge * 100.0).round() / 100.0;
            match result {
                Ok(done) => {
                    let item = done.item.filter(|_| done.status != 304);
                    let with_body = !minimal && !all_minimal;
                    Outcome {
                        status: done.status,
                        etag: item.as_ref().map(|item| item.etag.clone()),
                        body: item.filter(|_| with_body).map(|item| item.body.to_vec()),
                        charge,
                        ..Outcome::default()
                    }
                }
                Err(Refusal { status, sub_status, message }) => {
                    let body = matches!(self, Self::Row) && status != 424;
                    let body = body.then(|| json!({"message": message}).to_string().into_bytes());
                    Outcome { status, sub_status, body, charge, ..Outcome::default() }
                }
            }
        });
        let outcomes: Vec<Outcome> = outcomes.collect();
        answer.body = match self {
            Self::Row => hybrid_row::write(&outcomes).into(),
            Self::Json => {
                let all: Vec<String> = outcomes.into_iter().map(json_of).collect();
                format!("[{}]", all.join(",")).into()
            }
        };
        if matches!(self, Self::Row) {
            answer = answer.header("content-type", "application/octet-stream");
        }
        answer
    }
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
    let body = outcome.body.and_then(|body| String::from_utf8(body).ok());
    if let Some(body) = body.and_then(|body| RawValue::from_string(body).ok()) {
        text.pop();
        text.push_str(",\"resourceBody\":");
        text.push_str(body.get());
        text.push('}');
    }
    text
}
