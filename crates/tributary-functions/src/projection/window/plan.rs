//! The plan of a group of changes for a window: a pure function.

use std::collections::HashMap;

use super::{Member, Window, WindowHead};
use crate::{
    cosmos::ETag,
    projection::{ChangeFeedItem, CopySlot, Effect, StoredCopy},
    values::Timestamp,
};

pub(super) struct Plan<'a, C> {
    pub(super) after: WindowHead,
    pub(super) effects: Vec<Effect>,
    pub(super) writes: Vec<(&'a SourceState<C>, Option<ETag>)>,
    /// True if the writes are valid only under the head that was read.
    pub(super) needs_head: bool,
    pub(super) evicted: Vec<String>,
}

pub(super) fn concerns<C>(head: &WindowHead, capacity: usize, state: &SourceState<C>) -> bool {
    match state.member() {
        Some(member) => head.holds(&member) || head.admits(&member, capacity),
        None => true,
    }
}

/// Sources that are evicted again need not be written.
pub(super) fn plan<'a, C>(
    head: &WindowHead,
    capacity: usize,
    states: &'a [SourceState<C>],
    copies: &HashMap<String, StoredCopy>,
) -> Plan<'a, C> {
    let mut after = head.clone();
    let mut decided = Vec::with_capacity(states.len());
    for state in states {
        let slot = copy_slot(&after, capacity, state, copies.get(&state.id));
        if let CopySlot::Open(_) = slot {
            after = match state.member() {
                Some(member) => after.admit(member, capacity),
                None => after.remove(&state.id, capacity),
            };
        }
        decided.push((state, slot));
    }
    let mut effects = Vec::new();
    let mut writes = Vec::new();
    let mut needs_head = false;
    for (state, slot) in decided {
        let stays = state.member().is_none_or(|member| after.holds(&member));
        effects.push(match slot {
            CopySlot::Open(etag) if stays => {
                // The copy of a member is missing: the member may be evicted meanwhile.
                needs_head |= etag.is_none() && state.created.is_some();
                writes.push((state, etag));
                Effect::Applied
            }
            CopySlot::Open(_) => Effect::Unchanged,
            CopySlot::Taken(effect) => effect,
        });
    }
    let is_written = |id: &str| writes.iter().any(|(state, _)| state.id == id);
    let evicted = head.members().iter().map(|member| member.id.as_str());
    let evicted = evicted.filter(|id| !after.contains(id) && !is_written(id)).map(str::to_owned);
    let evicted = evicted.collect();
    Plan { after, effects, writes, needs_head, evicted }
}

fn copy_slot<C>(
    head: &WindowHead,
    capacity: usize,
    state: &SourceState<C>,
    there: Option<&StoredCopy>,
) -> CopySlot {
    let version = state.version;
    match state.member() {
        // A missing copy was deleted by an operator.
        Some(member) if head.holds(&member) => CopySlot::new(there, version),
        // The slot may have the tombstone of this source, or of an earlier one with its id; or the copy of a
        // later one, which is a member already. A copy of this very version belongs to no member, so it is
        // overwritten, too.
        Some(member) if head.admits(&member, capacity) => CopySlot::new(there, version + 1),
        Some(_) => CopySlot::Taken(Effect::Unchanged),
        None => CopySlot::new(there, version),
    }
}

pub(crate) struct SourceState<C> {
    pub(super) id: String,
    pub(super) version: u64,
    pub(super) created: Option<Timestamp>,
    pub(super) change: C,
}

impl<C: ChangeFeedItem> SourceState<C> {
    pub(crate) fn from_change<W: Window<Change = C>>(change: C) -> Option<Self> {
        let origin = change.origin()?;
        let created = W::source(&change).map(W::creation_date);
        Some(Self { id: origin.name(), version: origin.version, created, change })
    }

    pub(super) fn from_live_change<W: Window<Change = C>>(change: C) -> Option<(Member, Self)> {
        let state = Self::from_change::<W>(change)?;
        Some((state.member()?, state))
    }
}

impl<C> SourceState<C> {
    pub(crate) fn member(&self) -> Option<Member> {
        let creation_date = self.created?;
        Some(Member { creation_date, id: self.id.clone() })
    }
}
