//! The work of a query, computed from its text and its answer. If the answer lacks the items of its
//! result, a second query reads them.

use azure_core::http::Request;
use azure_core::http::headers::HeaderName;
use cosmos_model::charges::reads::QueryWork;
use cosmos_model::charges::sql::shape;
use cosmos_model::sql::Query;
use serde_json::{Value, json};

use super::super::account::Account;
use super::super::emulator::Response;
use super::super::operation::{ContainerPath, header, names_partition_key, parse};
use super::super::slices::{self, CONTINUATION, MAX_ITEM_COUNT, RANGE_ID, RANGE_START};

pub(super) async fn work(
    account: &Account,
    container: &ContainerPath,
    partition_key: &[String],
    request: &Request,
    response: &Response,
) -> Option<QueryWork> {
    let mut body: Value = parse(request)?;
    let query: Query = body.get("query")?.as_str()?.parse().ok()?;
    let shape = shape(&query);
    // The charges of pages add up to that of the query: only the first page has the start.
    let begins = header(request, &CONTINUATION).is_none();
    let n_partitions = partitions(account, container, request);
    let asks_each = shape.takes_first && n_partitions > 1;
    if let Some(whole) = &shape.whole_items {
        body["query"] = json!(whole.to_string());
    }
    let mut whole = request.clone();
    whole.set_body(body.to_string());
    if asks_each || shape.sums_up {
        // All items, whatever the page of an aggregate has.
        whole.insert_header(MAX_ITEM_COUNT, "-1");
    }
    let (items_loaded, bytes_loaded) = match &shape.whole_items {
        Some(_) if shape.sums_up && !begins => (0, 0),
        _ if asks_each && !begins => (0, 0),
        _ if asks_each => first_of_each(account, container, whole).await?,
        Some(_) => found(account, container, &whole).await?,
        None => (response.n_items(), response.body.len()),
    };
    // The partition key is looked up once, whether the text names it or not.
    let in_text = |path: &String| shape.equalities.iter().any(|equal| equal.to_string() == *path);
    let in_text = !partition_key.is_empty() && partition_key.iter().all(in_text);
    let by_key = u32::from(names_partition_key(request) && !in_text);
    Some(QueryWork {
        partitions: if begins { n_partitions } else { 0 },
        seeks: shape.seeks + by_key,
        items_loaded,
        bytes_loaded,
        bytes_returned: response.body.len(),
    })
}

/// Counts the items that the physical partitions return for the first ones in an order, and their
/// bytes. The order of the items of all partitions is known only after they are merged. The service
/// lets an SDK ask each partition for as many items as the answer has. Here one request may ask all
/// partitions, and costs as much.
async fn first_of_each(
    account: &Account,
    container: &ContainerPath,
    mut whole: Request,
) -> Option<(u32, usize)> {
    let mut n_items = 0;
    let mut n_bytes = 0;
    for partition in account.backend.partitions(container) {
        whole.insert_header(RANGE_ID, partition.to_string());
        let (items, bytes) = found(account, container, &whole).await?;
        n_items += items;
        n_bytes += bytes;
    }
    Some((n_items, n_bytes))
}

/// Counts the items that a query finds, and their bytes.
async fn found(
    account: &Account,
    container: &ContainerPath,
    request: &Request,
) -> Option<(u32, usize)> {
    let response = slices::query(account, container, request).await.ok()?;
    (response.status == 200).then(|| (response.n_items(), response.body.len()))
}

fn partitions(account: &Account, container: &ContainerPath, request: &Request) -> u32 {
    let has = |name: &HeaderName| header(request, name).is_some();
    if names_partition_key(request) || has(&RANGE_ID) || has(&RANGE_START) {
        return 1;
    }
    let all = account.backend.partitions(container);
    u32::try_from(all.len().max(1)).unwrap_or(u32::MAX)
}
