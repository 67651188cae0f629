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

#[cfg(test)]
mod tests {
    use std::{cmp::Reverse, collections::BTreeMap};

    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{projection::window::Member, values::Timestamp};

    const CAPACITY: usize = 100;

    type State = SourceState<()>;

    /// The window as it is stored: the head, and of each copy or tombstone the version and whether it
    /// is a copy.
    #[derive(Default)]
    struct Stored {
        head: WindowHead,
        items: BTreeMap<String, (u64, bool)>,
    }

    impl Stored {
        fn settle(&mut self, states: &[State]) {
            self.settle_under(&self.head.clone(), states);
        }

        /// Refills the window from the newest sources that exist, as `refill` does.
        fn refill(&mut self, newest: &[State]) {
            for states in newest.chunks(49) {
                let is_missing = |state: &&State| !self.head.holds(&member_of(state));
                let missing: Vec<_> = states.iter().filter(is_missing).map(copy_of).collect();
                self.settle_under(&self.head.filled(), &missing);
            }
        }

        fn settle_under(&mut self, head: &WindowHead, states: &[State]) {
            let copied = |version| StoredCopy { version, etag: ETag::from("") };
            let copies = self.items.iter().map(|(id, item)| (id.clone(), copied(item.0))).collect();
            let Plan { after, effects, writes, needs_head, evicted } =
                plan(head, CAPACITY, states, &copies);
            assert_eq!(effects.len(), states.len());
            assert!(1 + writes.len() + evicted.len() <= 100, "one transaction");
            assert!(!writes.is_empty() || after == *head, "nothing for the head alone");
            let concerned = states.iter().any(|state| concerns(head, CAPACITY, state));
            assert!(writes.is_empty() || concerned);
            for (state, _) in writes {
                let is_copy = state.created.is_some();
                let is_new =
                    self.items.insert(state.id.clone(), (state.version, is_copy)).is_none();
                assert!(!is_copy || !is_new || needs_head || after != *head);
            }
            for id in evicted {
                self.items.remove(&id);
            }
            self.head = after;
        }

        fn copies(&self) -> Vec<&str> {
            self.items.iter().filter(|(_, item)| item.1).map(|(id, _)| id.as_str()).collect()
        }

        fn members(&self) -> Vec<&str> {
            let mut members: Vec<_> =
                self.head.members().iter().map(|member| &*member.id).collect();
            members.sort_unstable();
            members
        }
    }

    fn copy_of(state: &State) -> State {
        State { id: state.id.clone(), ..*state }
    }

    fn live(id: &str, version: u64, second: usize) -> State {
        let date = format!("2026-11-21T{:02}:{:02}:00.000Z", second / 60 % 24, second % 60);
        let created = Some(Timestamp::parse(&date).unwrap());
        State { id: id.to_owned(), version, created, change: () }
    }

    fn deleted(id: &str, version: u64) -> State {
        State { id: id.to_owned(), version, created: None, change: () }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Of each source, 0 is a delete, 1 an operator's delete of the copy before a change, and 2 a delete
        /// without a delivery before a new source under the id.
        #[test]
        fn a_batch_of_changes_has_the_result_of_its_changes_one_by_one(
            batches in vec(vec((0usize..250, 0u8..5), 1..50), 1..12),
        ) {
            // Of each source its version and, while it exists, when it was created.
            let mut sources: BTreeMap<usize, (u64, Option<usize>)> = BTreeMap::new();
            let mut together = Stored::default();
            let mut one_by_one = Stored::default();
            for (time, batch) in batches.into_iter().enumerate() {
                let batch: BTreeMap<usize, u8> = batch.into_iter().collect();
                let mut states = Vec::new();
                for (source, what) in batch {
                    let (version, created) = sources.entry(source).or_default();
                    *version += 1;
                    let id = format!("p{source}");
                    if what == 0 {
                        *created = None;
                        states.push(deleted(&id, *version));
                        continue;
                    }
                    if what == 1 {
                        for window in [&mut together, &mut one_by_one] {
                            window.items.retain(|known, item| *known != id || !item.1);
                        }
                    }
                    if what == 2 {
                        *version += 1;
                        *created = None;
                    }
                    let created = *created.get_or_insert(time * 60 + source % 60);
                    states.push(live(&id, *version, created));
                }
                together.settle(&states);
                for state in states.chunks(1) {
                    one_by_one.settle(state);
                }
                let newest = newest(&sources);
                for window in [&mut together, &mut one_by_one] {
                    if window.head.refill {
                        window.refill(&newest);
                    }
                    prop_assert_eq!(window.copies(), window.members());
                    let expected: Vec<_> = newest.iter().map(member_of).collect();
                    prop_assert_eq!(window.head.members(), &expected);
                }
                let before = together.items.clone();
                together.settle(&states);
                prop_assert_eq!(&together.items, &before);
            }
        }
    }

    fn member_of(state: &State) -> Member {
        state.member().unwrap()
    }

    fn newest(sources: &BTreeMap<usize, (u64, Option<usize>)>) -> Vec<State> {
        let states = sources.iter().filter_map(|(source, (version, created))| {
            Some(live(&format!("p{source}"), *version, (*created)?))
        });
        let mut states: Vec<_> = states.collect();
        states.sort_by_cached_key(|state| Reverse(member_of(state)));
        states.truncate(CAPACITY);
        states
    }
}
