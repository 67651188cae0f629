//! Pages end at 4 MB, with a continuation.
//!
//! Source: <https://learn.microsoft.com/azure/cosmos-db/nosql/query/pagination>.

use std::borrow::Cow;

use azure_data_cosmos::CosmosError;
use azure_data_cosmos_driver::binary_json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::account::Account;
use super::emulator::Response;
use super::operation::{DataRequest, RequestKind};
use super::slices::{self, MAX_ITEM_COUNT};

/// The bytes of the items on a page at most, unless one item is larger.
pub(super) const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The body of a page, in text.
#[derive(Deserialize, Serialize)]
pub(super) struct DocumentsPage<'a> {
    #[serde(borrow, rename = "_rid")]
    pub(super) rid: Cow<'a, str>,
    #[serde(borrow, rename = "Documents")]
    pub(super) documents: Vec<&'a RawValue>,
    #[serde(rename = "_count")]
    pub(super) count: usize,
}

pub(super) async fn page(
    account: &Account,
    data: DataRequest<'_>,
) -> Result<Response, CosmosError> {
    let response = read(account, data).await?;
    let Some(fitting) = fitting(&response) else {
        return Ok(response);
    };
    // The emulator makes the continuation, so the emulator has to end the page.
    let mut shorter = data.request.clone();
    shorter.insert_header(MAX_ITEM_COUNT, fitting.to_string());
    read(account, DataRequest { request: &shorter, ..data }).await
}

async fn read(account: &Account, data: DataRequest<'_>) -> Result<Response, CosmosError> {
    match data.kind {
        RequestKind::Query => slices::query(account, data.container, data.request).await,
        _ => account.send(data.request).await,
    }
}

/// Returns the number of items that fit on the page, at least one; `None` if all do.
fn fitting(response: &Response) -> Option<usize> {
    if response.status != 200 || response.body.len() <= MAX_PAGE_BYTES {
        return None;
    }
    let sizes = sizes(&response.body)?;
    let mut bytes = 0;
    let fits = |size: &&usize| {
        bytes += **size;
        bytes <= MAX_PAGE_BYTES
    };
    let fitting = sizes.iter().take_while(fits).count().max(1);
    (fitting < sizes.len()).then_some(fitting)
}

/// Returns the sizes of the items of a page as text, for both forms of the body.
fn sizes(body: &[u8]) -> Option<Vec<usize>> {
    if binary_json::is_binary(body) {
        let page: Value = binary_json::from_slice(body).ok()?;
        let documents = page.get("Documents")?.as_array()?;
        return Some(documents.iter().map(|item| item.to_string().len()).collect());
    }
    let page: DocumentsPage<'_> = serde_json::from_slice(body).ok()?;
    Some(page.documents.iter().map(|item| item.get().len()).collect())
}
