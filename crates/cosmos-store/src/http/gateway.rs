//! Pages of a query of several physical partitions that no SDK merges: each page is of one partition.

use super::{
    call::bad_continuation,
    scope::{epk, hex},
};
use crate::{
    Refusal,
    engine::{EpkRange, View},
    query::{self, Page, PageRequest, Work},
    sql::Prepared,
};

/// Returns the first page that has a result, or the last one. The parts are those of the physical partitions. A
/// continuation has the part to which it belongs, since partitions may be split or merged between pages.
pub(super) fn page(
    view: &View,
    query: &Prepared,
    mut request: PageRequest<'_>,
    mut parts: Vec<EpkRange>,
) -> Result<Page, Refusal> {
    let mut token = None;
    if let Some(continuation) = request.continuation {
        let (part, rest) = continuation.split_once('|').ok_or_else(bad_continuation)?;
        let (from, until) = part.split_once('-').ok_or_else(bad_continuation)?;
        let bound = |text| epk(text).map_err(|_| bad_continuation());
        let current = EpkRange { from: bound(from)?, until: bound(until)? };
        parts.retain(|part| part.until > current.until);
        if let Some(next) = parts.first_mut() {
            next.from = next.from.clone().max(current.until.clone());
        }
        parts.insert(0, current);
        token = Some(rest).filter(|rest| !rest.is_empty());
    }
    let mut work = Work::default();
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        request.range = part.clone();
        request.continuation = token.take();
        let mut page = query::page(view, query, &request)?;
        work = sum(work, page.work);
        page.work = work;
        let (next, rest) = match (page.continuation.take(), parts.peek()) {
            (Some(token), _) => (part, token),
            (None, Some(_)) if page.results.is_empty() => continue,
            (None, Some(next)) => (next.clone(), String::new()),
            (None, None) => return Ok(page),
        };
        page.continuation = Some(format!("{}-{}|{rest}", hex(&next.from), hex(&next.until)));
        return Ok(page);
    }
    Err(bad_continuation())
}

fn sum(one: Work, other: Work) -> Work {
    Work {
        seeks: one.seeks.saturating_add(other.seeks),
        items_loaded: one.items_loaded.saturating_add(other.items_loaded),
        bytes_loaded: one.bytes_loaded.saturating_add(other.bytes_loaded),
    }
}
