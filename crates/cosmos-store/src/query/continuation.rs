//! Where a page ends, as the text that a client sends with the request for the next one.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::PageRequest;
use crate::{Refusal, Result, engine::ContainerId, sql::Prepared};

/// The most bytes of a continuation: it has to fit into a header. The values of ORDER BY are in it.
const MAX_BYTES: usize = 6_000;

/// The end of a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Continuation {
    /// The place of the last item, in the order of a scan; empty before the first item.
    pub place: Vec<u8>,
    /// The place of the item before, if the last one is not done.
    pub before: Vec<u8>,
    /// The values of ORDER BY of the last item, as text JSON.
    pub order: Vec<Option<String>>,
    /// The results of the last item that were returned or skipped; `None` if it is done.
    pub n_rows: Option<usize>,
    /// The results that OFFSET still skips.
    pub skip: u64,
    /// The results that TOP and LIMIT still allow.
    pub left: Option<u64>,
    /// The results that were returned, of a query whose results are made of all items.
    pub n_results: u64,
}

impl Continuation {
    /// Reads a continuation of a query in a part of a container. Errors: 400 for anything else.
    pub(super) fn read(text: &str, query: &Prepared, request: &PageRequest<'_>) -> Result<Self> {
        let bytes = Some(text).filter(|text| text.len() <= 2 * MAX_BYTES);
        let bytes = bytes.and_then(|text| BASE64_URL_SAFE_NO_PAD.decode(text).ok());
        let read = bytes.and_then(|bytes| serde_json::from_slice::<(String, Self)>(&bytes).ok());
        // Of a physical partition that was split, each part goes on with the token of the whole. That of another
        // logical partition would skip all of this one.
        let is_of_this = |(hash, read): &(String, Self)| {
            *hash == query_hash(query, request.container)
                && (!request.range.is_point()
                    || read.place.is_empty()
                    || request.range.contains(&read.place))
        };
        let read = read.filter(is_of_this).map(|(_, read)| read);
        read.ok_or_else(|| Refusal::new(400, "Invalid Continuation Token"))
    }

    /// Writes the continuation of a query. Errors: 400 if the values of ORDER BY are too long for a header.
    pub(super) fn write(&self, query: &Prepared, container: ContainerId) -> Result<String> {
        // Writing to memory does not fail.
        let bytes = serde_json::to_vec(&(query_hash(query, container), self)).unwrap_or_default();
        if bytes.len() > MAX_BYTES {
            let message = "The values of ORDER BY are too long for a continuation token.";
            return Err(Refusal::new(400, message));
        }
        Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// Returns a text that differs between containers, queries, and the values of their parameters.
fn query_hash(query: &Prepared, container: ContainerId) -> String {
    let mut bytes = container.to_be_bytes().to_vec();
    bytes.extend(query.query.to_string().into_bytes());
    for (name, value) in &query.parameters {
        bytes.extend(name.as_bytes());
        value.write(&mut bytes);
    }
    let hash = Sha256::digest(bytes);
    BASE64_URL_SAFE_NO_PAD.encode(hash.get(..9).unwrap_or_default())
}
