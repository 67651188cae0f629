//! A list over several partitions, newest first, in pages.
//!
//! Each part is sorted already, so a page is merged from the first items of each. A part is asked only
//! when it may have the next item: parts of an earlier time wait until the page needs them. So a page
//! takes one store request for each part that it needs, and not one for each part of the list.
//!
//! Two parts may have copies of one item ([`relocation`](super::relocation)). They have the same date
//! and id, so they meet, and the newest stays.
//!
//! Parts are read one after the other, so an item whose date changes meanwhile may be met under both
//! dates. The first stays in the page.

use std::collections::{HashSet, VecDeque};

use futures::future::try_join_all;

use super::child_list::SortKey;
use crate::{cosmos::StoreError, values::Timestamp};

/// A part of the list: a sorted range of one container.
pub trait Part: Sync {
    /// What the part has.
    type Item: Send;

    /// No item of the part is of this moment or later.
    fn before(&self) -> Timestamp;

    /// Returns the next `most` items, newest first, from the beginning or after `after`.
    fn read(
        &self,
        after: Option<&SortKey>,
        most: u32,
    ) -> impl Future<Output = Result<Vec<Self::Item>, StoreError>> + Send;

    /// Date and id of an item.
    fn key(item: &Self::Item) -> SortKey;

    /// The version of a copy.
    fn version(item: &Self::Item) -> u64;

    /// Returns false if the item is to be left out, although it is in the part.
    fn keep(&self, item: &Self::Item) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

/// A page, and the parts that it took.
#[derive(Debug)]
pub struct Merged<'a, P: Part> {
    /// The items, newest first.
    pub items: Vec<P::Item>,
    /// The parts that were asked.
    pub asked: Vec<&'a P>,
}

/// Returns the first `most` items of all parts, from the beginning or after `after`.
pub async fn merge<'a, P: Part>(
    parts: &'a [P],
    after: Option<&SortKey>,
    most: u32,
) -> Result<Merged<'a, P>, StoreError> {
    let mut waiting: Vec<&P> = parts.iter().collect();
    // The newest is the last.
    waiting.sort_by_key(|part| part.before());
    let mut open: Vec<Open<'a, P>> = Vec::new();
    let (mut items, mut ids) = (Vec::new(), HashSet::new());
    while items.len() < most as usize {
        let missing = most - u32::try_from(items.len()).unwrap_or(most);
        try_join_all(open.iter_mut().map(|part| part.refill(missing))).await?;
        let newest = open.iter().filter_map(Open::head).max_by(newer);
        // A part that begins where the newest item is may have it, too.
        let may_have_next =
            |part: &P| newest.as_ref().is_none_or(|SortKey(date, _)| part.before() > *date);
        let due = waiting.iter().rev().take_while(|part| may_have_next(part)).count();
        if due > 0 {
            // All that may have the next item: those of one time at once.
            let first = waiting[waiting.len() - 1].before();
            let same = waiting.iter().rev().take_while(|part| part.before() == first).count();
            let next = waiting.split_off(waiting.len() - same.min(due));
            open.extend(next.into_iter().map(|part| Open::new(part, after.cloned())));
            continue;
        }
        let Some(newest) = newest else { break };
        let copies = open.iter_mut().filter(|part| part.head().as_ref() == Some(&newest));
        let copies = copies.filter_map(|part| Some((part.part, part.items.pop_front()?)));
        let best = copies.max_by_key(|(_, item)| P::version(item));
        let SortKey(_, id) = newest;
        if let Some((part, item)) = best
            && !ids.contains(&id)
            && part.keep(&item).await?
        {
            ids.insert(id);
            items.push(item);
        }
    }
    Ok(Merged { items, asked: open.into_iter().map(|part| part.part).collect() })
}

fn newer(SortKey(a, a_id): &SortKey, SortKey(b, b_id): &SortKey) -> std::cmp::Ordering {
    (a, a_id).cmp(&(b, b_id))
}

/// A part that is being read.
struct Open<'a, P: Part> {
    part: &'a P,
    items: VecDeque<P::Item>,
    after: Option<SortKey>,
    has_more: bool,
}

impl<'a, P: Part> Open<'a, P> {
    fn new(part: &'a P, after: Option<SortKey>) -> Self {
        Self { part, items: VecDeque::new(), after, has_more: true }
    }

    fn head(&self) -> Option<SortKey> {
        self.items.front().map(P::key)
    }

    async fn refill(&mut self, most: u32) -> Result<(), StoreError> {
        if self.items.is_empty() && self.has_more {
            let items = self.part.read(self.after.as_ref(), most).await?;
            self.has_more = items.len() >= most as usize;
            self.after = items.last().map(P::key).or(self.after.take());
            self.items = items.into();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        sync::atomic::{AtomicU32, Ordering::Relaxed},
        time::Duration,
    };

    use proptest::prelude::*;

    use super::*;

    /// Day, id, version; days of the part.
    type Copy = (u32, u8, u64);

    /// An item that has another date in another part.
    const MOVING: u8 = 100;

    #[derive(Debug)]
    struct Days {
        before: u32,
        copies: Vec<Copy>,
        reads: AtomicU32,
    }

    fn day(day: u32) -> Timestamp {
        Timestamp::EPOCH.after(Duration::from_secs(u64::from(day) * 86_400))
    }

    impl Part for Days {
        type Item = Copy;

        fn before(&self) -> Timestamp {
            day(self.before)
        }

        async fn read(&self, after: Option<&SortKey>, most: u32) -> Result<Vec<Copy>, StoreError> {
            self.reads.fetch_add(1, Relaxed);
            let is_after =
                |copy: &&Copy| after.is_none_or(|after| newer(&Self::key(copy), after).is_lt());
            Ok(self.copies.iter().filter(is_after).take(most as usize).copied().collect())
        }

        fn key(&(on, id, _): &Copy) -> SortKey {
            SortKey(day(on), if id == MOVING { "moving".into() } else { format!("{on} {id}") })
        }

        fn version(&(_, _, version): &Copy) -> u64 {
            version
        }

        async fn keep(&self, &(_, id, _): &Copy) -> Result<bool, StoreError> {
            Ok(id != 7)
        }
    }

    /// Parts of ten days each, and of some times two.
    fn parts() -> impl Strategy<Value = Vec<Days>> {
        let part =
            (0..4_u32, proptest::collection::btree_set((0..10_u32, 0..9_u8, 1..4_u64), 0..12));
        proptest::collection::vec(part, 0..8).prop_map(|parts| {
            let part = |(decade, copies): (u32, std::collections::BTreeSet<Copy>)| {
                let copies =
                    copies.into_iter().map(|(on, id, version)| ((decade * 10 + on, id), version));
                let copies: BTreeMap<(u32, u8), u64> = copies.collect();
                let mut copies: Vec<Copy> =
                    copies.into_iter().map(|((on, id), version)| (on, id, version)).collect();
                copies.sort_by(|a, b| newer(&Days::key(b), &Days::key(a)));
                Days { before: decade * 10 + 10, copies, reads: AtomicU32::new(0) }
            };
            parts.into_iter().map(part).collect()
        })
    }

    proptest! {
        #[test]
        fn pages_have_each_item_once_in_its_newest_version(parts in parts(), most in 1..6_u32) {
            let mut wanted: BTreeMap<(u32, u8), u64> = BTreeMap::new();
            for &(on, id, version) in parts.iter().flat_map(|part| &part.copies) {
                let known = wanted.entry((on, id)).or_default();
                *known = version.max(*known);
            }
            let mut wanted: Vec<Copy> =
                wanted.into_iter().filter(|((_, id), _)| *id != 7).map(|((on, id), version)| (on, id, version)).collect();
            wanted.sort_by(|a, b| newer(&Days::key(b), &Days::key(a)));

            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = runtime.block_on(merge(&parts, after.as_ref(), most)).unwrap().items;
                prop_assert!(page.len() <= most as usize);
                let Some(last) = page.last() else { break };
                after = Some(Days::key(last));
                found.extend(page);
            }
            prop_assert_eq!(found, wanted);
        }
    }

    #[tokio::test]
    async fn an_item_that_gets_another_date_while_a_page_is_read_is_in_it_once() {
        let part = |decade: u32| Days {
            before: decade * 10 + 10,
            copies: vec![(decade * 10 + 2, MOVING, 2 - u64::from(decade)), (decade * 10, 1, 1)],
            reads: AtomicU32::new(0),
        };
        let parts = [part(0), part(1)];
        let merged = merge(&parts, None, 3).await.unwrap();
        assert_eq!(merged.items, [(12, MOVING, 1), (10, 1, 1), (0, 1, 1)]);
    }

    #[tokio::test]
    async fn a_page_asks_no_earlier_part_than_it_needs() {
        let part = |decade: u32| Days {
            before: decade * 10 + 10,
            copies: (0..5).rev().map(|on| (decade * 10 + on, 1, 1)).collect(),
            reads: AtomicU32::new(0),
        };
        let parts = [part(0), part(2), part(1)];
        let reads = || parts.each_ref().map(|part| part.reads.load(Relaxed));
        let merged = merge(&parts, None, 4).await.unwrap();
        assert_eq!((merged.items.len(), merged.asked.len(), reads()), (4, 1, [0, 1, 0]));
        let merged = merge(&parts, None, 6).await.unwrap();
        assert_eq!((merged.items.len(), merged.asked.len(), reads()), (6, 2, [0, 2, 1]));
    }
}
