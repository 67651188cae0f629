//! The charge of each request, computed from reads around the request.

use azure_core::http::headers::HeaderName;
use azure_core::http::{Method, Request};
use azure_data_cosmos::CosmosError;
use cosmos_model::charges::items::ItemVersion;
use cosmos_model::charges::rates::{self, LOOKUP_RU};
use cosmos_model::charges::reads;

use super::super::account::Account;
use super::super::containers::ContainerInfo;
use super::super::emulator::Response;
use super::super::operation::{ContainerPath, DataRequest, PARTITION_KEY, RequestKind};
use super::super::replicas;
use super::queries;
use super::writes::Write;

const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// Waits for the emulator's answer to a request, and writes the charge into it. If the charge
/// cannot be computed, the emulator's charge stays.
pub(in crate::cosmos) async fn charged(
    account: &Account,
    known: &ContainerInfo,
    data: DataRequest<'_>,
    answer: impl Future<Output = Result<Response, CosmosError>>,
) -> Result<Response, CosmosError> {
    let DataRequest { kind, container, request, .. } = data;
    let writes = Write::from_request(data);
    let mut before = Vec::with_capacity(writes.len());
    for write in &writes {
        let id = write.id.as_deref().filter(|_| write.follows());
        before.push(stored(account, container, id, request).await);
    }
    let mut response = answer.await?;
    response.items_loaded = Some(0);
    let charge = match response.status {
        200 | 201 | 204 if kind.is_write() => {
            let policy = known.indexing_policy.clone().unwrap_or_default();
            let mut charge = Some(0.0);
            for (write, old) in writes.into_iter().zip(before) {
                let id = write.id.as_deref().filter(|_| write.needs_a_look_after());
                let after = stored(account, container, id, request).await;
                charge = charge.zip(write.charge(old, after, &policy)).map(|(sum, one)| sum + one);
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
                let n_items = queries::n_items(&response);
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

/// Returns the item in its present state, from the logical partition of the request.
async fn stored(
    account: &Account,
    container: &ContainerPath,
    id: Option<&str>,
    request: &Request,
) -> Option<ItemVersion> {
    let mut get = account.request(Method::Get, &container.item(id?));
    let key = request.headers().get_optional_str(&PARTITION_KEY)?;
    get.insert_header(PARTITION_KEY, key.to_owned());
    let response = account.send(&get).await.ok().filter(|response| response.status == 200)?;
    let item = serde_json::from_slice(&response.body).ok()?;
    Some(ItemVersion { item, bytes: response.body.len() })
}
