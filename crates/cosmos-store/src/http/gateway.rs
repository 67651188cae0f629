//! Pages of a query of several physical partitions that no SDK merges: each page is of one partition.

use super::{call::bad_continuation, scope::epk};
use crate::{
    Result,
    engine::{EpkRange, View, hex},
    query::{self, Page, PageRequest},
    sql::Prepared,
};

/// Returns the next page, which may be empty. The parts are those of the physical partitions. A continuation has the part
/// to which it belongs, since partitions may be split or merged between pages.
pub(super) fn page(
    view: &View,
    query: &Prepared,
    mut request: PageRequest<'_>,
    mut parts: Vec<EpkRange>,
) -> Result<Page> {
    let mut token = None;
    if let Some(continuation) = request.continuation {
        let (part, rest) = continuation.split_once('|').ok_or_else(bad_continuation)?;
        let (from, until) = part.split_once('-').ok_or_else(bad_continuation)?;
        let bound = |text| epk(text).map_err(|_| bad_continuation());
        let current = EpkRange { from: bound(from)?, until: bound(until)? };
        let is_within = parts.first().is_some_and(|first| first.from <= current.from)
            && parts.last().is_some_and(|last| current.until <= last.until)
            && current.from < current.until;
        if !is_within {
            return Err(bad_continuation());
        }
        parts.retain(|part| part.until > current.until);
        if let Some(next) = parts.first_mut() {
            next.from = next.from.clone().max(current.until.clone());
        }
        parts.insert(0, current);
        token = Some(rest).filter(|rest| !rest.is_empty());
    }
    let mut parts = parts.into_iter();
    let Some(part) = parts.next() else { return Err(bad_continuation()) };
    request.range = part.clone();
    request.continuation = token;
    let mut page = query::page(view, query, &request)?;
    let next = match page.continuation.take() {
        Some(token) => Some((part, token)),
        None => parts.next().map(|part| (part, String::new())),
    };
    page.continuation =
        next.map(|(part, token)| format!("{}-{}|{token}", hex(&part.from), hex(&part.until)));
    Ok(page)
}
