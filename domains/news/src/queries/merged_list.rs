//! A list over several partitions, newest first, in pages.
//!
//! Each part is sorted already, so a page is merged from the first rows of each. A part is opened only if
//! it may have the next item: parts of an earlier time wait until the page needs them, and a part that is
//! read to its end is closed. So a page takes one store request for each part that it needs, instead of
//! one for each part of the list. The parts are an iterator, so their number is not limited.
//!
//! Two parts may have copies of one item ([`moves`](crate::moves)). The copies have the same date
//! and id, so the merge meets both, and the newest version decides. That holds in a search, too, where only
//! an older version may match.
//!
//! Parts are read one after the other, so the merge may meet an item under two dates if its date changes
//! meanwhile. The first one stays in the page.
//!
//! # Why a page ends within its budget, and the list continues
//!
//! 1. A part returns *rows*. A row has a position, and an item only if the list shows it. So the merge also
//!    passes rows that a search does not match, or that are unreadable.
//! 2. The merge takes rows in their order. After each row, everything up to its position is decided.
//!    When no opened part may have the next row, everything up to the end of the next part is decided. So
//!    at each moment there is a position up to which the list is decided.
//! 3. The budget is checked before each further read. When it is spent, the page ends with that position.
//!    The first read of a page is always made, and returns a row, or the end of its part. So the position
//!    of each page is beyond that of the page before, and the list ends.
//! 4. A page exceeds its budget by at most one read of the parts of one time.

use std::collections::{HashSet, VecDeque};

use futures::future::try_join_all;

use tributary_functions::{cosmos::Budget, prelude::*};

/// A part of the list: a sorted range of one container.
pub(super) trait ListPart {
    type Item;

    /// Returns the end of the part: all of its items are before this moment.
    fn before(&self) -> Timestamp;

    /// Reads the next rows, newest first, from the beginning or after `after`: at least one, unless the
    /// part ends.
    async fn read(
        &self,
        after: Option<&SortKey>,
        wanted: PartRequest<'_>,
    ) -> Result<PartRows<Self::Item>, StoreError>;

    async fn keep(&self, item: &Self::Item) -> Result<bool, StoreError>;
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PartRequest<'a> {
    pub items: u32,
    /// The number of earlier reads of the part for this page.
    pub reads: u32,
    pub budget: &'a Budget,
}

#[derive(Debug)]
pub(super) struct PartRows<T> {
    /// The rows, newest first.
    pub rows: Vec<PartRow<T>>,
    /// True if the part has no more.
    pub is_end: bool,
}

/// A position of a part, and the item that the list shows there.
#[derive(Debug)]
pub(super) struct PartRow<T> {
    pub key: SortKey,
    /// The version of the copy. Of copies with equal versions, that of the part opened later decides.
    pub version: u64,
    /// The item, unless the list does not show it.
    pub item: Option<T>,
}

#[derive(Debug)]
pub(super) struct PageLimits {
    pub items: u32,
    pub parts: usize,
    pub budget: Budget,
}

#[derive(Debug)]
pub(super) struct MergedPage<P: ListPart> {
    /// The items, newest first.
    pub items: Vec<P::Item>,
    pub opened_parts: Vec<P>,
    /// The position after which the list continues, if the page has ended before it was full.
    pub continues_after: Option<SortKey>,
}

/// Merges the first items of all parts into a page, from the beginning or after `after`. The parts are
/// sorted by [`ListPart::before`], from the newest to the oldest.
pub(super) async fn merge<P: ListPart>(
    parts: impl Iterator<Item = P>,
    after: Option<&SortKey>,
    page: &PageLimits,
) -> Result<MergedPage<P>, StoreError> {
    let mut waiting = parts.peekable();
    let mut open: Vec<OpenPart<P>> = Vec::new();
    let mut merged =
        MergedPage { items: Vec::new(), opened_parts: Vec::new(), continues_after: None };
    let mut ids = HashSet::new();
    let mut position = after.cloned();
    let mut is_first = true;
    while let Some(missing) = missing_items(&merged, page) {
        merged
            .opened_parts
            .extend(open.extract_if(.., |part| part.is_done()).map(|part| part.part));
        let newest = open.iter().filter_map(OpenPart::head).max().cloned();
        let next = waiting.peek().map(|part| end(part, after));
        // A part that ends at the date of the newest row may have a copy of that row.
        let due = next.filter(|next| newest.as_ref().is_none_or(|SortKey(date, _)| next > date));
        let is_short = open.iter().any(OpenPart::is_empty);
        if !is_short && let Some(due) = due {
            let decided = SortKey(due, String::new());
            if position.as_ref().is_none_or(|position| decided < *position) {
                position = Some(decided);
            }
        }
        if is_short || due.is_some() {
            let is_full = !is_short && open.len() + merged.opened_parts.len() >= page.parts;
            if !is_first && (is_full || page.budget.is_spent()) {
                merged.continues_after = position;
                break;
            }
            if !is_short {
                let of_one_time = || waiting.next_if(|part| next == Some(end(part, after)));
                let opened = std::iter::from_fn(of_one_time);
                open.extend(opened.map(|part| OpenPart::new(part, after)));
            }
            let reads = open.iter_mut().filter(|part| part.is_empty());
            try_join_all(reads.map(|part| part.refill(missing, &page.budget))).await?;
            is_first = false;
            continue;
        }
        let Some(newest) = newest else { break };
        let copies = open.iter_mut().filter_map(|part| part.take(&newest));
        if let Some((part, PartRow { item: Some(item), .. })) =
            copies.max_by_key(|(_, row)| row.version)
            && !ids.contains(&newest.1)
            && part.keep(&item).await?
        {
            ids.insert(newest.1.clone());
            merged.items.push(item);
        }
        position = Some(newest);
    }
    merged.opened_parts.extend(open.into_iter().map(|part| part.part));
    Ok(merged)
}

/// Returns the number of items that a page still takes; `None` if it is full.
fn missing_items<P: ListPart>(merged: &MergedPage<P>, page: &PageLimits) -> Option<u32> {
    let found = u32::try_from(merged.items.len()).unwrap_or(u32::MAX);
    page.items.checked_sub(found).filter(|missing| *missing > 0)
}

/// Returns the end of the rest of a part after a position: all items of the rest are before it.
fn end<P: ListPart>(part: &P, after: Option<&SortKey>) -> Timestamp {
    after.map_or(part.before(), |after| part.before().min(after.end()))
}

struct OpenPart<P: ListPart> {
    part: P,
    rows: VecDeque<PartRow<P::Item>>,
    after: Option<SortKey>,
    reads: u32,
    is_end: bool,
}

impl<P: ListPart> OpenPart<P> {
    fn new(part: P, after: Option<&SortKey>) -> Self {
        Self { part, rows: VecDeque::new(), after: after.cloned(), reads: 0, is_end: false }
    }

    fn head(&self) -> Option<&SortKey> {
        self.rows.front().map(|row| &row.key)
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && !self.is_end
    }

    fn is_done(&self) -> bool {
        self.rows.is_empty() && self.is_end
    }

    fn take(&mut self, key: &SortKey) -> Option<(&P, PartRow<P::Item>)> {
        let row = self.rows.pop_front_if(|row| row.key == *key)?;
        Some((&self.part, row))
    }

    async fn refill(&mut self, items: u32, budget: &Budget) -> Result<(), StoreError> {
        let wanted = PartRequest { items, reads: self.reads, budget };
        let PartRows { rows, is_end } = self.part.read(self.after.as_ref(), wanted).await?;
        self.after = rows.last().map(|row| row.key.clone()).or(self.after.take());
        self.rows = rows.into();
        self.is_end = is_end;
        self.reads += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        sync::atomic::{AtomicU32, Ordering::Relaxed},
        time::Duration,
    };

    use proptest::prelude::*;

    use super::*;
    use tributary_functions::cosmos::Limits;

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

    fn key(&(on, id, _): &Copy) -> SortKey {
        SortKey(day(on), if id == MOVING { "moving".into() } else { format!("{on} {id}") })
    }

    /// Ids that end with 8 are not found, and items with 7 are left out.
    impl ListPart for &Days {
        type Item = Copy;

        fn before(&self) -> Timestamp {
            day(self.before)
        }

        async fn read(
            &self,
            after: Option<&SortKey>,
            wanted: PartRequest<'_>,
        ) -> Result<PartRows<Copy>, StoreError> {
            self.reads.fetch_add(1, Relaxed);
            let is_after = |copy: &&Copy| after.is_none_or(|after| key(copy) < *after);
            let row = |copy: &Copy| PartRow {
                key: key(copy),
                version: copy.2,
                item: Some(*copy).filter(|(_, id, _)| *id != 8),
            };
            let rest: Vec<_> = self.copies.iter().filter(is_after).map(row).collect();
            let is_end = rest.len() < wanted.items as usize;
            Ok(PartRows { rows: rest.into_iter().take(wanted.items as usize).collect(), is_end })
        }

        async fn keep(&self, &(_, id, _): &Copy) -> Result<bool, StoreError> {
            Ok(id != 7)
        }
    }

    fn budget(time: Duration) -> Budget {
        Budget::start(Limits { store_requests: 1_000, request_units: 1_000, time })
    }

    fn ample(items: u32) -> PageLimits {
        PageLimits { items, parts: 1_000, budget: budget(Duration::from_mins(1)) }
    }

    async fn page<'a>(
        parts: &'a [Days],
        after: Option<&SortKey>,
        limits: &PageLimits,
    ) -> MergedPage<&'a Days> {
        let mut parts: Vec<&Days> = parts.iter().collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.before));
        merge(parts.into_iter(), after, limits).await.unwrap()
    }

    /// Parts of ten days each, and of some times two.
    fn parts() -> impl Strategy<Value = Vec<Days>> {
        let part =
            (0..4_u32, proptest::collection::btree_set((0..10_u32, 0..9_u8, 1..4_u64), 0..12));
        proptest::collection::vec(part, 0..8).prop_map(|parts| {
            let part = |(decade, copies): (u32, BTreeSet<Copy>)| {
                let copies =
                    copies.into_iter().map(|(on, id, version)| ((decade * 10 + on, id), version));
                let copies: BTreeMap<(u32, u8), u64> = copies.collect();
                let mut copies: Vec<Copy> =
                    copies.into_iter().map(|((on, id), version)| (on, id, version)).collect();
                copies.sort_by_key(|copy| std::cmp::Reverse(key(copy)));
                Days { before: decade * 10 + 10, copies, reads: AtomicU32::new(0) }
            };
            parts.into_iter().map(part).collect()
        })
    }

    /// All items that the list shows, in their newest versions.
    fn shown(parts: &[Days]) -> Vec<Copy> {
        let mut wanted: BTreeMap<(u32, u8), u64> = BTreeMap::new();
        for &(on, id, version) in parts.iter().flat_map(|part| &part.copies) {
            let known = wanted.entry((on, id)).or_default();
            *known = version.max(*known);
        }
        let wanted = wanted.into_iter().filter(|((_, id), _)| !matches!(id, 7 | 8));
        let mut wanted: Vec<Copy> = wanted.map(|((on, id), version)| (on, id, version)).collect();
        wanted.sort_by_key(|copy| std::cmp::Reverse(key(copy)));
        wanted
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    proptest! {

        #[test]
        fn pages_that_end_early_have_each_item_once_and_the_list_ends(
            parts in parts(),
            most in 1..6_u32,
            limits in prop_oneof![Just((1, 60)), Just((2, 60)), Just((1_000, 0))],
        ) {
            let (max_parts, seconds) = limits;
            let mut found = Vec::new();
            let mut after = None;
            let mut pages = 0;
            loop {
                let budget = budget(Duration::from_secs(seconds));
                let limits = PageLimits { items: most, parts: max_parts, budget };
                let reads = || parts.iter().map(|part| part.reads.load(Relaxed)).sum::<u32>();
                let before = reads();
                let merged = block_on(page(&parts, after.as_ref(), &limits));
                if seconds == 0 {
                    prop_assert!(reads() - before <= 8, "one read of the parts of one time");
                }
                let last = merged.items.last().map(key);
                found.extend(merged.items);
                let is_full = found.len() >= most as usize && merged.continues_after.is_none();
                let next = merged.continues_after.or(last.filter(|_| is_full));
                prop_assert!(next.is_none() || after.is_none() || next < after, "it goes on");
                pages += 1;
                prop_assert!(pages < 500);
                match next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
            prop_assert_eq!(found, shown(&parts));
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
        let merged = page(&parts, None, &ample(3)).await;
        assert_eq!(merged.items, [(12, MOVING, 1), (10, 1, 1), (0, 1, 1)]);
    }

    #[tokio::test]
    async fn a_page_reads_no_earlier_part_than_it_needs() {
        let part = |decade: u32| Days {
            before: decade * 10 + 10,
            copies: (0..5).rev().map(|on| (decade * 10 + on, 1, 1)).collect(),
            reads: AtomicU32::new(0),
        };
        let parts = [part(0), part(2), part(1)];
        let reads = || parts.each_ref().map(|part| part.reads.load(Relaxed));
        let merged = page(&parts, None, &ample(4)).await;
        assert_eq!((merged.items.len(), merged.opened_parts.len(), reads()), (4, 1, [0, 1, 0]));
        let merged = page(&parts, None, &ample(6)).await;
        assert_eq!((merged.items.len(), merged.opened_parts.len(), reads()), (6, 2, [0, 2, 1]));
    }
}
