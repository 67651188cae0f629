//! Pages end at 4 MB, with a continuation.
//!
//! Source: <https://learn.microsoft.com/azure/cosmos-db/nosql/query/pagination>.

use azure_core::http::Request;
use azure_data_cosmos::CosmosError;
use azure_data_cosmos_driver::binary_json;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    account::Account,
    backend::Response,
    operation::{ContainerPath, RequestKind},
    slices::{self, MAX_ITEM_COUNT},
};

/// The most bytes of items on a page, but for an item that is larger on its own.
pub(super) const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Answers a page of a query or of all items.
pub(super) async fn page(
    account: &Account,
    kind: RequestKind,
    container: &ContainerPath,
    request: &Request,
) -> Result<Response, CosmosError> {
    let response = read(account, kind, container, request).await?;
    let Some(fitting) = fitting(&response) else {
        return Ok(response);
    };
    // The emulator makes the continuation, so it has to end the page itself.
    let mut shorter = Request::new(request.url().clone(), request.method());
    *shorter.headers_mut() = request.headers().clone();
    shorter.set_body(request.body().clone());
    shorter.insert_header(MAX_ITEM_COUNT, fitting.to_string());
    read(account, kind, container, &shorter).await
}

async fn read(
    account: &Account,
    kind: RequestKind,
    container: &ContainerPath,
    request: &Request,
) -> Result<Response, CosmosError> {
    match kind {
        RequestKind::Query => slices::query(account, container, request).await,
        _ => account.send(request).await,
    }
}

/// How many items of a page fit on it; `None` when all do.
fn fitting(response: &Response) -> Option<usize> {
    if response.status != 200 || response.body.len() <= MOST_BYTES {
        return None;
    }
    let sizes = sizes(&response.body)?;
    let fitting = count_fitting(&sizes);
    (fitting < sizes.len()).then_some(fitting)
}

/// How many of the items of these sizes fit on a page: one does in any case.
fn count_fitting(sizes: &[usize]) -> usize {
    let mut bytes = 0;
    let fits = |size: &&usize| {
        bytes += **size;
        bytes <= MOST_BYTES
    };
    sizes.iter().take_while(fits).count().max(1)
}

/// The sizes of the items of a page as text, whatever form it has.
fn sizes(body: &[u8]) -> Option<Vec<usize>> {
    #[derive(Deserialize)]
    struct Page<'a> {
        #[serde(borrow, rename = "Documents")]
        documents: Vec<&'a RawValue>,
    }
    if binary_json::is_binary(body) {
        let page: Value = binary_json::from_slice(body).ok()?;
        let documents = page.get("Documents")?.as_array()?;
        return Some(documents.iter().map(|item| item.to_string().len()).collect());
    }
    let page: Page<'_> = serde_json::from_slice(body).ok()?;
    Some(page.documents.iter().map(|item| item.get().len()).collect())
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, count_fitting};

    #[test]
    fn a_page_has_as_much_as_fits_and_one_item_at_least() {
        assert_eq!(count_fitting(&[MOST_BYTES, 1]), 1);
        assert_eq!(count_fitting(&[MOST_BYTES + 1, 1]), 1);
        assert_eq!(count_fitting(&[MOST_BYTES - 1, 1, 1]), 2);
        assert_eq!(count_fitting(&[1, MOST_BYTES]), 1);
    }
}
