//! Pages of queries over many logical partitions, without a scan of all items for each page.
//!
//! The emulator copies every item in the scope of a query before it looks at the first, and repeats
//! that for each page. A page needs few items. So the emulator is asked for slices of the key range, in
//! order and each wider than the one before, until the page is full. All pages together then cost about
//! as much as one scan of all items.
//!
//! This holds only if the emulator pages by a position in the key range. Then the order of the result
//! is that of the range, and each item stands for itself.

use azure_core::{
    Bytes,
    http::{Method, Request, headers::HeaderName},
};
use azure_data_cosmos::CosmosError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    account::Account,
    emulator::{Response, failure},
    operation::{ContainerPath, header, names_partition_key, parse},
    pages::DocumentsPage,
};

pub(super) const CONTINUATION: HeaderName = HeaderName::from_static("x-ms-continuation");
pub(super) const MAX_ITEM_COUNT: HeaderName = HeaderName::from_static("x-ms-max-item-count");
pub(super) const RANGE_ID: HeaderName =
    HeaderName::from_static("x-ms-documentdb-partitionkeyrangeid");
pub(super) const RANGE_START: HeaderName = HeaderName::from_static("x-ms-start-epk");
pub(super) const ITEM_COUNT: HeaderName = HeaderName::from_static("x-ms-item-count");
pub(super) const RANGE_END: HeaderName = HeaderName::from_static("x-ms-end-epk");
pub(super) const KEY_TYPE: HeaderName = HeaderName::from_static("x-ms-read-key-type");
const SUPPORTED_FORMATS: HeaderName =
    HeaderName::from_static("x-ms-cosmos-supported-serialization-formats");

/// The end of the keys, which are hashes of 126 bits.
const KEY_RANGE_END: u128 = 1 << 126;

/// The width of the first slice of a page.
const FIRST_SLICE_WIDTH: u128 = KEY_RANGE_END / 256;

const SLICE_GROWTH: u128 = 4;

/// Words of queries whose pages are not positions in the key range, or whose result is not made of
/// single items. A query that has one of them only in a text is read without slices, which only takes
/// longer.
const UNSLICED_WORDS: [&str; 14] = [
    "TOP", "DISTINCT", "JOIN", "IN", "GROUP", "ORDER", "OFFSET", "COUNT", "SUM", "AVG", "MIN",
    "MAX", "EXISTS", "ARRAY",
];

pub(super) async fn query(
    account: &Account,
    container: &ContainerPath,
    request: &Request,
) -> Result<Response, CosmosError> {
    let Some(mut scan) = Scan::from_request(account, container, request).await else {
        return account.send(request).await;
    };
    let mut page = Vec::new();
    loop {
        // The last slice ends with the range of the request.
        let end = Some(scan.start.saturating_add(scan.width)).filter(|end| *end < scan.end);
        let response = account.send(&scan.slice(request, end)).await?;
        if response.status != 200 {
            return Ok(response);
        }
        let position = response.header(&CONTINUATION).map(str::to_owned);
        let position = position.or_else(|| position_at(end?));
        scan.missing = scan.missing.saturating_sub(response.n_items());
        scan.start = end.unwrap_or(scan.end);
        scan.width = scan.width.saturating_mul(SLICE_GROWTH);
        page.push(response);
        if scan.missing == 0 || position.is_none() {
            return join(page, position);
        }
    }
}

struct Scan {
    /// The number of items that the page lacks.
    missing: u32,
    /// The keys that are still to be read.
    start: u128,
    end: u128,
    /// The end of the range in the request.
    last: Option<String>,
    /// The width of the next slice.
    width: u128,
    /// The continuation for the first slice.
    continuation: Option<String>,
}

impl Scan {
    /// Creates a scan; `None` if the emulator has to answer the request unchanged.
    async fn from_request(
        account: &Account,
        container: &ContainerPath,
        request: &Request,
    ) -> Option<Self> {
        let header = |name: &HeaderName| header(request, name);
        let missing = header(&MAX_ITEM_COUNT)?.parse().ok().filter(|&limit| limit > 0)?;
        let body: Value = parse(request).filter(|_| !names_partition_key(request))?;
        if !stands_for_itself(body.get("query")?.as_str()?) {
            return None;
        }
        let (mut start, mut end) = match header(&RANGE_ID) {
            Some(id) => bounds(account, container, id).await?,
            None => (0, KEY_RANGE_END),
        };
        // Two values of a hierarchical key have longer hashes than a slice: the first would be taken for both.
        let is_long = |epk: &str| epk.len() > 2 * size_of_val(&start);
        if header(&RANGE_START).is_some_and(is_long) {
            return None;
        }
        if let Some(epk) = header(&RANGE_START) {
            start = start.max(key(epk)?);
        }
        let last = header(&RANGE_END).map(str::to_owned);
        if let Some(epk) = &last {
            end = end.min(key(epk)?);
        }
        let continuation = header(&CONTINUATION).map(str::to_owned);
        if let Some(token) = &continuation {
            let position: Position = serde_json::from_str(token).ok()?;
            start = start.max(key(&position.epk)?);
        }
        Some(Self { missing, start, end, last, width: FIRST_SLICE_WIDTH, continuation })
    }

    /// Returns the request for the next slice.
    fn slice(&mut self, whole: &Request, end: Option<u128>) -> Request {
        let mut request = whole.clone();
        // The parts of a page are joined as text.
        request.headers_mut().remove(SUPPORTED_FORMATS);
        request.headers_mut().remove(CONTINUATION);
        request.insert_header(MAX_ITEM_COUNT, self.missing.to_string());
        narrow(&mut request, self.start, end.map(epk).or_else(|| self.last.clone()));
        if let Some(continuation) = self.continuation.take() {
            request.insert_header(CONTINUATION, continuation);
        }
        request
    }
}

/// Returns the continuation behind all lower keys. No id is empty, so the first item with this key is behind it.
fn position_at(key: u128) -> Option<String> {
    let position = Position { kind: CURSOR_KIND.into(), epk: epk(key), id: String::new() };
    serde_json::to_string(&position).ok()
}

#[derive(Deserialize, Serialize)]
struct Position {
    kind: String,
    epk: String,
    id: String,
}

const CURSOR_KIND: &str = "document_feed_cursor_v1";

/// Returns true if the result has the items in the order of their keys, each for itself: `SELECT … FROM
/// c`, with a filter or without.
fn stands_for_itself(query: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || "_.@$[]\"".contains(c);
    let words: Vec<_> = query.split(|c| !is_word(c)).filter(|word| !word.is_empty()).collect();
    let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
    let n = |wanted: &str| words.iter().filter(|word| is(word, wanted)).count();
    let Some(from) = words.iter().position(|word| is(word, "FROM")) else {
        return false;
    };
    let is_root = match words[from + 1..] {
        [root] => is_name(root),
        [root, filter, ..] => is_name(root) && is(filter, "WHERE"),
        [] => false,
    };
    // A subquery is a second SELECT.
    is_root && n("SELECT") == 1 && n("FROM") == 1 && UNSLICED_WORDS.iter().all(|word| n(word) == 0)
}

fn is_name(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || c == '_')
}

pub(super) async fn bounds(
    account: &Account,
    container: &ContainerPath,
    id: &str,
) -> Option<(u128, u128)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Ranges {
        partition_key_ranges: Vec<Range>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Range {
        id: String,
        min_inclusive: String,
        max_exclusive: String,
    }
    let ContainerPath { database, container } = container;
    let path = ["dbs", database, "colls", container, "pkranges"];
    let response = account.send(&account.request(Method::Get, &path)).await.ok()?;
    let ranges: Ranges = serde_json::from_slice(&response.body).ok()?;
    let range = ranges.partition_key_ranges.into_iter().find(|range| range.id == id)?;
    Some((key(&range.min_inclusive)?, key(&range.max_exclusive)?))
}

/// Lets a request ask for a part of the key range only.
pub(super) fn narrow(request: &mut Request, start: u128, end: Option<String>) {
    request.insert_header(KEY_TYPE, "EffectivePartitionKeyRange");
    request.insert_header(RANGE_START, epk(start));
    if let Some(end) = end {
        request.insert_header(RANGE_END, end);
    }
}

/// Returns the first 128 bits of a key. A key of another length is cut or padded, which only moves the
/// border between two slices.
fn key(hex: &str) -> Option<u128> {
    let digits: String = hex.chars().chain(std::iter::repeat('0')).take(32).collect();
    u128::from_str_radix(&digits, 16).ok().map(|key| key.min(KEY_RANGE_END))
}

pub(super) fn epk(key: u128) -> String {
    format!("{key:032X}")
}

fn join(mut page: Vec<Response>, position: Option<String>) -> Result<Response, CosmosError> {
    let malformed =
        |error: serde_json::Error| failure(format_args!("a page cannot be read: {error}"));
    let joined = if let [first, .., _] = &page[..] {
        let mut items: DocumentsPage<'_> =
            serde_json::from_slice(&first.body).map_err(malformed)?;
        for part in &page[1..] {
            let part: DocumentsPage<'_> = serde_json::from_slice(&part.body).map_err(malformed)?;
            items.documents.extend(part.documents);
        }
        items.count = items.documents.len();
        Some((serde_json::to_vec(&items).map_err(malformed)?, items.documents.len()))
    } else {
        None
    };
    let Some(mut response) = page.pop() else {
        return Err(failure("a page has no slices"));
    };
    if let Some((body, items)) = joined {
        response.body = Bytes::from(body);
        response.headers.insert(ITEM_COUNT, items.to_string());
    }
    if let Some(position) = position {
        response.headers.insert(CONTINUATION, position);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::stands_for_itself;

    #[test]
    fn only_plain_queries_are_read_in_slices() {
        for plain in [
            "SELECT * FROM c",
            "select c.id, c.title from c where c.userId = @userId AND c.version < 3",
            "SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, 'a')",
        ] {
            assert!(stands_for_itself(plain), "{plain}");
        }
        for whole in [
            "SELECT TOP 3 * FROM c",
            "SELECT * FROM c ORDER BY c.n",
            "SELECT VALUE COUNT(1) FROM c",
            "SELECT DISTINCT c.a FROM c",
            "SELECT * FROM c.tags",
            "SELECT * FROM c[\"WHERE\"]",
            "SELECT VALUE t FROM t IN c.tags",
            "SELECT * FROM c JOIN t IN c.tags",
            "SELECT * FROM c WHERE c.n = (SELECT VALUE 1)",
            "SELECT c.a FROM c GROUP BY c.a",
            "SELECT * FROM c OFFSET 1 LIMIT 2",
            "SELECT 1",
        ] {
            assert!(!stands_for_itself(whole), "{whole}");
        }
    }
}
