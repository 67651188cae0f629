//! The charge of each request, computed from reads around the request.

use azure_core::http::headers::HeaderName;
use azure_core::http::{Method, Request};
use azure_data_cosmos::CosmosError;
use cosmos_model::charges::items::{self, ItemVersion, WriteScope};
use cosmos_model::charges::policy::IndexingPolicy;
use cosmos_model::charges::rates::{self, LOOKUP_RU};
use cosmos_model::charges::reads;

use super::super::account::Account;
use super::super::containers::ContainerInfo;
use super::super::emulator::Response;
use super::super::operation::{
    ContainerPath, DataRequest, PARTITION_KEY, RequestKind, WrittenItem, header,
};
use super::super::replicas;
use super::queries;

const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// Waits for the emulator's answer to a request, and writes the charge into it. If the charge
/// cannot be computed, the emulator's charge stays.
pub(in crate::cosmos) async fn charged(
    account: &Account,
    known: &ContainerInfo,
    data: DataRequest<'_>,
    written: &[WrittenItem],
    answer: impl Future<Output = Result<Response, CosmosError>>,
) -> Result<Response, CosmosError> {
    let DataRequest { kind, container, request, .. } = data;
    let mut before = Vec::with_capacity(written.len());
    for write in written {
        let id = (write.kind != RequestKind::Create).then_some(&write.id);
        before.push(stored(account, container, id, request).await);
    }
    let mut response = answer.await?;
    response.items_loaded = Some(0);
    let charge = match response.status {
        200 | 201 | 204 if kind.is_write() => {
            let policy = known.indexing_policy.clone().unwrap_or_default();
            let mut charge = Some(0.0);
            let is_batch = kind == RequestKind::Batch;
            let scope = if is_batch { WriteScope::Transaction } else { WriteScope::Request };
            for (write, old) in written.iter().zip(before) {
                let id = (write.kind == RequestKind::Patch).then_some(&write.id);
                let patched = stored(account, container, id, request).await;
                let new = write.new.as_ref().or(patched.as_ref());
                let one = charge_of(write, scope, old.as_ref(), new, &policy);
                charge = charge.zip(one).map(|(sum, one)| sum + one);
            }
            charge.filter(|charge| *charge > 0.0)
        }
        200 => match kind {
            RequestKind::Read => {
                response.items_loaded = Some(1);
                Some(rates::read(response.body.len()))
            }
            RequestKind::Query => {
                let keys = &known.partition_key.paths;
                let work = queries::work(account, container, keys, request, &response).await;
                response.items_loaded = work.map(|work| work.items_loaded);
                work.map(reads::query)
            }
            _ => {
                let n_items = response.n_items();
                response.items_loaded = Some(n_items);
                Some(reads::feed(n_items, response.body.len()))
            }
        },
        // A failed batch, no changes, a missing item, a conflict, another version.
        207 | 304 | 404 | 409 | 412 => Some(LOOKUP_RU),
        _ => None,
    };
    // A read of the latest committed state asks a quorum of replicas.
    let quorum = !kind.is_write() && replicas::demands_newest(request);
    if let Some(charge) = charge.map(|charge| if quorum { 2.0 * charge } else { charge }) {
        response.headers.insert(REQUEST_CHARGE, format!("{charge:.2}"));
    }
    Ok(response)
}

/// Returns the charge of a write that makes an old item a new one, or of a read in a batch.
fn charge_of(
    write: &WrittenItem,
    scope: WriteScope,
    old: Option<&ItemVersion>,
    new: Option<&ItemVersion>,
    policy: &IndexingPolicy,
) -> Option<f64> {
    let charge = match (write.kind, old, new) {
        (RequestKind::Patch, Some(old), Some(new)) => {
            items::patch(old, new, write.n_patches, policy)
        }
        (RequestKind::Upsert | RequestKind::Replace, Some(old), Some(new)) => {
            items::replace(old, new, policy, scope)
        }
        // An item that a batch replaces may be created by the same batch.
        (RequestKind::Create | RequestKind::Upsert | RequestKind::Replace, None, Some(new)) => {
            items::create(new, policy)
        }
        (RequestKind::Delete, Some(old), _) => items::delete(old, policy),
        (RequestKind::Read, Some(old), _) => rates::read(old.bytes),
        _ => return None,
    };
    Some(charge)
}

/// Returns the item in its present state, from the logical partition of the request.
async fn stored(
    account: &Account,
    container: &ContainerPath,
    id: Option<&String>,
    request: &Request,
) -> Option<ItemVersion> {
    let mut get = account.request(Method::Get, &container.item(id?));
    let key = header(request, &PARTITION_KEY)?;
    get.insert_header(PARTITION_KEY, key.to_owned());
    let response = account.send(&get).await.ok().filter(|response| response.status == 200)?;
    let item = serde_json::from_slice(&response.body).ok()?;
    Some(ItemVersion { item, bytes: response.body.len() })
}

#[cfg(test)]
mod tests {
    use azure_core::http::Url;
    use serde_json::json;

    use super::*;
    use crate::cosmos::operation::written_items;

    #[test]
    fn a_patch_costs_by_what_it_did_to_the_item_and_by_its_operations() {
        let url = Url::parse("http://localhost/dbs/d/colls/c/docs/1").unwrap();
        let container = &ContainerPath { database: "d".into(), container: "c".into() };
        let version = |a: u32| ItemVersion { item: json!({ "id": "1", "a": a }), bytes: 9 };
        let operation = json!({ "op": "incr", "path": "/a", "value": 1 });
        let charges = [1, 3].map(|n| {
            let mut request = Request::new(url.clone(), Method::Patch);
            request.set_body(json!({ "operations": vec![&operation; n] }).to_string());
            let (kind, item, request) = (RequestKind::Patch, Some("1"), &request);
            let patch = &written_items(DataRequest { kind, container, item, request })[0];
            assert!(patch.new.is_none());
            let (scope, policy) = (WriteScope::Request, IndexingPolicy::default());
            charge_of(patch, scope, Some(&version(1)), Some(&version(2)), &policy).unwrap()
        });
        // Twice 4.95, four removed terms and four new ones, and the operations.
        assert_eq!(charges.map(|charge| format!("{charge:.2}")), ["11.90", "12.70"]);
    }
}
