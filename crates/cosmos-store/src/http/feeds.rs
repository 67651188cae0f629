//! Pages of all items of a part of a container, without a query.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use cosmos_model::charges::reads;

use super::{
    Service,
    address::Container,
    answer::Answer,
    blocking,
    call::{Call, bad_continuation, name},
    scope::Scope,
};
use crate::{
    Result,
    engine::{ContainerId, EpkRange},
};

/// The bytes of the items of a page at most, unless one item is larger:
/// <https://learn.microsoft.com/azure/cosmos-db/nosql/query/pagination>.
pub(super) const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// The items of a page for which the request names no number.
const DEFAULT_PAGE_ITEMS: u32 = 100;
/// The items of a page that the store chooses.
const MAX_PAGE_ITEMS: u32 = 1_000;

impl Service {
    pub(super) async fn read_feed(call: &Call, container: &Container) -> Result<Answer> {
        let scope = Scope::new(call, container)?;
        scope.check_session(call)?;
        let after = call
            .header(name::CONTINUATION)
            .map(|token| place(token, container.id, &scope.range).ok_or_else(bad_continuation))
            .transpose()?;
        let most = limit(call)?;
        let (view, id, range) = (call.view.clone(), container.id, scope.range.clone());
        let (bodies, continuation) = blocking(move || {
            let mut items = view.scan(id, &range, after.as_deref()).peekable();
            let mut bodies = Vec::new();
            let mut bytes = 0_usize;
            let mut last = None;
            while let Some(item) = items.peek() {
                bytes = bytes.saturating_add(item.body.len());
                if bodies.len() >= most || (bytes > MAX_PAGE_BYTES && !bodies.is_empty()) {
                    break;
                }
                let Some(item) = items.next() else { break };
                last = Some(item.place);
                bodies.push(item.body);
            }
            let more = items.peek().is_some();
            Ok((bodies, last.filter(|_| more)))
        })
        .await?;
        let token = continuation
            .map(|place| BASE64_URL_SAFE_NO_PAD.encode([&id.to_be_bytes(), &*place].concat()));
        let answer = Answer::feed(container.rid(), "Documents", &bodies);
        Ok(charged(answer).continuation(token.as_deref()).scope(&scope))
    }
}

/// Returns the place behind which a page begins. The container is before it in the token, which no other container or
/// logical partition takes.
fn place(token: &str, container: ContainerId, range: &EpkRange) -> Option<Vec<u8>> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).ok()?;
    let (id, place) = bytes.split_first_chunk()?;
    let is_here = !range.is_point() || range.contains(place);
    (ContainerId::from_be_bytes(*id) == container && is_here).then(|| place.to_vec())
}

/// Returns the most items of a page of a feed.
pub(super) fn limit(call: &Call) -> Result<usize> {
    let limit = match call.max_items()? {
        None if call.header(name::MAX_ITEMS).is_some() => MAX_PAGE_ITEMS,
        limit => limit.unwrap_or(DEFAULT_PAGE_ITEMS),
    };
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}

/// Adds the charge of a page of a feed, which has loaded what it returns.
pub(super) fn charged(mut answer: Answer) -> Answer {
    let items = answer.touched.items_returned;
    let work = &mut answer.touched.work;
    (work.items_loaded, work.items_matched) = (items, items);
    let charge = reads::feed(items, answer.body.len());
    answer.charge(charge)
}
