//! Pages of the change feed: the latest versions, or all versions and deletes.
//!
//! A page ends with an ETag, with which the next one begins: the LSN of its last item, in quotes. A request for several
//! physical partitions has an LSN for each: `"0=5,1=7"`.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};

use super::{
    Service,
    address::Container,
    answer::Answer,
    blocking,
    call::{Call, bad_continuation, name},
    feeds::{MAX_PAGE_BYTES, charged, limit},
    scope::Scope,
};
use crate::{
    Refusal, Result,
    engine::{ContainerId, EpkRange, Item, Lsn, Partition, Version, View},
    json::Json,
};

/// The items that are read from the store at once.
const CHUNK_ITEMS: usize = 100;

/// How changes are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Items, with `_lsn`.
    Items,
    /// `{"current": …, "metadata": …}`, which the Rust SDK asks for.
    WithMetadata,
    /// All versions and deletes.
    AllVersions,
}

/// Where a feed begins.
enum Start {
    Beginning,
    Now,
    /// A time, in seconds since 1970.
    Time(i64),
    Behind(Lsn),
    /// By physical partitions.
    BehindEach(BTreeMap<u32, Lsn>),
}

impl Start {
    fn new(call: &Call) -> Result<Self> {
        let etag = call.header(name::IF_NONE_MATCH).or_else(|| call.header(name::CONTINUATION));
        let since = call.header("if-modified-since");
        match (etag.map(|etag| etag.trim_matches('"')), since) {
            (None | Some(""), None) => Ok(Self::Beginning),
            (None | Some(""), Some(time)) => {
                let time = OffsetDateTime::parse(time, &Rfc2822);
                let bad = |_| Refusal::new(400, "The header if-modified-since has no time.");
                Ok(Self::Time(time.map_err(bad)?.unix_timestamp()))
            }
            (Some("*"), _) => Ok(Self::Now),
            (Some(etag), _) if etag.contains('=') => {
                let each = etag.split(',').map(|part| {
                    let (id, lsn) = part.split_once('=')?;
                    Some((id.parse().ok()?, lsn.parse().ok()?))
                });
                let each = each.collect::<Option<_>>().ok_or_else(bad_continuation)?;
                Ok(Self::BehindEach(each))
            }
            (Some(etag), _) => Ok(Self::Behind(etag.parse().map_err(|_| bad_continuation())?)),
        }
    }

    fn lsn(&self, view: &View, container: ContainerId, partition: &Partition) -> Lsn {
        match self {
            Self::Beginning => 0,
            Self::Now => partition.lsn,
            Self::Time(time) => view.lsn_at(container, partition.id, *time),
            Self::Behind(lsn) => *lsn,
            // LSNs go on from those of the partitions of which one was made.
            Self::BehindEach(each) => {
                let ids = std::iter::once(&partition.id).chain(&partition.parents);
                ids.filter_map(|id| each.get(id)).max().copied().unwrap_or_default()
            }
        }
    }
}

impl Service {
    pub(super) async fn changes(call: &Call, container: &Container) -> Result<Answer> {
        let start = Start::new(call)?;
        let feed = call.header(name::CHANGE_FEED).unwrap_or_default();
        let is_full = feed.eq_ignore_ascii_case("Full-Fidelity Feed");
        let form = if is_full {
            Form::AllVersions
        } else if call.header("x-ms-cosmos-changefeed-wire-format-version").is_some() {
            Form::WithMetadata
        } else {
            Form::Items
        };
        if is_full && matches!(start, Start::Beginning | Start::Time(_)) {
            let text = "The feed of all versions and deletes begins now, or behind a continuation: neither at the \
                        beginning nor at a time.";
            return Err(Refusal::new(400, text));
        }
        let scope = Scope::new(call, container)?;
        scope.check_session(call)?;
        let most = limit_of(call)?;
        let paths = container.definition.key_paths.iter();
        let names = paths.filter_map(|path| path.names().last().cloned()).collect();

        let (view, id) = (call.view.clone(), container.id);
        let (scope, changes, ends) = blocking(move || {
            let changes = Vec::new();
            let mut page = Page { view, container: id, form, names, changes, bytes: 0, most };
            let mut ends = Vec::with_capacity(scope.partitions.len());
            for partition in &scope.partitions {
                let after = start.lsn(&page.view, id, partition);
                let range = partition.range.intersection(&scope.range);
                ends.push((partition.id, page.read(partition.id, &range, after)?));
            }
            Ok((scope, page.changes, ends))
        })
        .await?;

        let etag = match &ends[..] {
            [(_, lsn)] => lsn.to_string(),
            all => all.iter().map(|(id, lsn)| format!("{id}={lsn}")).collect::<Vec<_>>().join(","),
        };
        let etag = format!("\"{etag}\"");
        let answer = if changes.is_empty() {
            Answer::new(304).count(0)
        } else {
            charged(Answer::feed(container.rid(), "Documents", &changes))
        };
        Ok(answer.etag(&etag).continuation(Some(&etag)).scope(&scope))
    }
}

/// Returns the most changes of a page; without a number the page ends at its size.
fn limit_of(call: &Call) -> Result<usize> {
    if call.header(name::MAX_ITEMS).is_some() { limit(call) } else { Ok(1_000) }
}

/// A page that is being filled.
struct Page {
    view: View,
    container: ContainerId,
    form: Form,
    /// The last names of the paths of the partition key.
    names: Vec<String>,
    changes: Vec<Bytes>,
    bytes: usize,
    most: usize,
}

impl Page {
    fn is_full(&self) -> bool {
        self.changes.len() >= self.most || self.bytes >= MAX_PAGE_BYTES
    }

    /// Reads changes of a physical partition until the page is full, and returns the LSN behind which the next page
    /// begins. All changes of one LSN are on one page.
    fn read(&mut self, partition: u32, range: &EpkRange, mut after: Lsn) -> Result<Lsn> {
        while !self.is_full() {
            let Self { view, container, form, names, .. } = &*self;
            let wanted = CHUNK_ITEMS.min(self.most - self.changes.len());
            let (chunk, until, more) = if *form == Form::AllVersions {
                let (all, until) = view.versions(*container, partition, range, after, wanted)?;
                let more = !all.is_empty();
                let all = all.iter();
                let all = all.map(|(lsn, version)| (*lsn, version_json(*lsn, version, names)));
                (all.collect::<Vec<_>>(), until, more)
            } else {
                let page = view.changes(*container, partition, range, after, wanted);
                let all = page.items.iter().map(|item| (item.lsn, item_json(item, *form)));
                (all.collect(), page.until, page.more)
            };
            for changes in chunk.chunk_by(|(one, _), (other, _)| one == other) {
                let bytes: usize = changes.iter().map(|(_, change)| change.len()).sum();
                if !self.changes.is_empty() && self.bytes.saturating_add(bytes) > MAX_PAGE_BYTES {
                    return Ok(after);
                }
                self.bytes = self.bytes.saturating_add(bytes);
                self.changes.extend(changes.iter().map(|(_, change)| change.clone()));
                after = changes.first().map_or(after, |(lsn, _)| *lsn);
            }
            after = until.max(after);
            if !more {
                break;
            }
        }
        Ok(after)
    }
}

fn item_json(item: &Item, form: Form) -> Bytes {
    let mut json = Vec::with_capacity(item.body.len().saturating_add(80));
    if form == Form::Items {
        let end = item.body.len().saturating_sub(1);
        json.extend_from_slice(item.body.get(..end).unwrap_or_default());
        json.extend_from_slice(format!(",\"_lsn\":{}}}", item.lsn).as_bytes());
    } else {
        let read = Json::parse_only(&item.body, &["_ts"]).ok();
        let time = read.and_then(|item| item.get("_ts")?.as_f64()).unwrap_or_default();
        json.extend_from_slice(b"{\"current\":");
        json.extend_from_slice(&item.body);
        let metadata = format!(",\"metadata\":{{\"lsn\":{},\"crts\":{time}}}}}", item.lsn);
        json.extend_from_slice(metadata.as_bytes());
    }
    json.into()
}

fn version_json(lsn: Lsn, version: &Version, names: &[String]) -> Bytes {
    let mut metadata = json!({
        "lsn": lsn,
        "crts": version.time,
        "operationType": version.operation,
        "previousImageLSN": version.previous_lsn.unwrap_or_default(),
    });
    let mut json = b"{".to_vec();
    if let Some(body) = version.body() {
        json.extend_from_slice(b"\"current\":");
        json.extend_from_slice(body);
        json.push(b',');
    } else {
        metadata["id"] = json!(version.id);
        let key: Vec<Value> = serde_json::from_str(&version.key).unwrap_or_default();
        metadata["partitionKey"] = names.iter().cloned().zip(key).collect();
        metadata["timeToLiveExpired"] = json!(version.expired);
    }
    json.extend_from_slice(format!("\"metadata\":{metadata}}}").as_bytes());
    json.into()
}
