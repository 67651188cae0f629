//! The counts of one kind of request.

use std::collections::BTreeMap;

use cosmos_model::partitioning::{FilterCondition, Key, KeyValue, path::PropertyPath};
use serde_json::Value;

use super::{PreparedItem, seconds, times};
use crate::{
    population::{KeyGroup, Population, SampleDraw},
    request::{
        QuerySelection, RequestFilter, RequestKind, RequestOperation, TransactionStep, compared,
    },
    sketch::{KeyCounts, UniformSample, hash, slot_seconds},
    words::float,
};

const MAX_DRAWN_REQUESTS: usize = 64;

const MAX_KEPT_TIMES: usize = 4_096;

#[derive(Debug)]
pub(crate) struct RequestCounts {
    pub(crate) request: RequestKind,
    pub(crate) drawn: Vec<PropertyPath>,
    pub(crate) last: Option<(PropertyPath, i64)>,
    /// Items with the same drawn values, of those that meet the fixed conditions.
    groups: Option<KeyCounts>,
    pub(crate) draws: UniformSample<Vec<KeyValue>>,
    pub(crate) found: FoundItems,
    pub(crate) steps: Vec<TransactionStep>,
    pub(crate) written: Vec<FoundItems>,
    pub(crate) newest: Option<i64>,
    times: UniformSample<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FoundItems {
    pub(crate) items: u64,
    pub(crate) stored_bytes: u64,
    pub(crate) returned_bytes: u64,
    pub(crate) read: f64,
    pub(crate) write: f64,
    pub(crate) create: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct MatchedItems(Vec<(f64, f64)>);

impl RequestCounts {
    pub(crate) fn new(request: RequestKind) -> Self {
        let mut drawn = Vec::new();
        let mut last = None;
        for (path, wanted) in &request.filters {
            match wanted {
                RequestFilter::Drawn => drawn.push(path.clone()),
                RequestFilter::Last(seconds) => last = Some((path.clone(), *seconds)),
                RequestFilter::Fixed(_) => {}
            }
        }
        // An id finds one item, so nothing is counted.
        let groups = request.operation == RequestOperation::Query
            && !drawn.contains(&PropertyPath::from_name("id"));
        let steps = match request.operation {
            RequestOperation::Transaction if request.writes.is_empty() => {
                vec![TransactionStep::new(RequestOperation::Create)]
            }
            RequestOperation::Transaction => request.writes.clone(),
            operation => {
                vec![TransactionStep {
                    set: request.set.clone(),
                    ..TransactionStep::new(operation)
                }]
            }
        };
        let written = vec![FoundItems::default(); steps.len()];
        Self {
            request,
            steps,
            drawn,
            last,
            groups: groups.then(KeyCounts::new),
            draws: UniformSample::new(MAX_DRAWN_REQUESTS),
            found: FoundItems::default(),
            written,
            newest: None,
            times: UniformSample::new(MAX_KEPT_TIMES),
        }
    }

    pub(crate) fn add(&mut self, items: &[PreparedItem<'_>]) {
        let path = self.last.as_ref().map(|(path, _)| path);
        let times: Vec<_> =
            items.iter().map(|item| path.and_then(|path| seconds(item.value, path))).collect();
        for (item, time) in items.iter().zip(&times) {
            if let Some(time) = time {
                self.times.offer(item.draw, || *time);
            }
        }
        let newest_allowed = times::newest_allowed(self.times.iter().copied().collect());
        for (item, time) in items.iter().zip(times) {
            self.add_item(item, time, newest_allowed);
        }
    }

    /// Counts an item, if a request may find it. An outlier of the times is in no window.
    fn add_item(
        &mut self,
        item: &PreparedItem<'_>,
        time: Option<i64>,
        newest_allowed: i64,
    ) -> Option<()> {
        let is_met = |(path, wanted): (&PropertyPath, &RequestFilter)| match wanted {
            RequestFilter::Fixed(condition) => meets(path.find(item.value), condition),
            RequestFilter::Drawn | RequestFilter::Last(_) => true,
        };
        if !self.request.filters.iter().all(is_met) {
            return None;
        }
        // No request asks for a value that the item lacks.
        let value = |path: &PropertyPath| KeyValue::from_property(Some(path.find(item.value)?));
        let drawn: Vec<_> = self.drawn.iter().map(value).collect::<Option<_>>()?;
        let hash = hash(&drawn);
        let mut slot = None;
        if let Some((_, seconds)) = &self.last
            && time? <= newest_allowed
        {
            let newest = time.max(self.newest)?;
            self.newest = Some(newest);
            let length = slot_seconds(*seconds);
            slot = Some((time?.div_euclid(length), newest.div_euclid(length)));
        }
        self.found.add(item);
        for (step, written) in self.steps.iter().zip(&mut self.written) {
            if step.filters.iter().all(|(path, wanted)| meets(path.find(item.value), wanted)) {
                written.add(item);
            }
        }
        self.found.returned_bytes += match &self.request.select {
            QuerySelection::Items => item.stored_bytes,
            QuerySelection::Properties(paths) => selected_bytes(paths, item),
            QuerySelection::Aggregate(_) => 0,
        };
        if let Some(groups) = &mut self.groups {
            let key = || drawn.iter().cloned().collect::<Key>();
            groups.add(hash, key, item.stored_bytes, item.cluster, slot);
        }
        self.draws.offer(item.draw, || drawn);
        Some(())
    }

    /// Returns the numbers of items that requests of this kind find in the container, where a value that more
    /// items have is drawn more often.
    pub(crate) fn matches(&self, draw: SampleDraw) -> MatchedItems {
        let Some(groups) = &self.groups else { return MatchedItems::single() };
        let Population { groups, sizes, .. } = Population::new(groups, draw);
        let share = |group: &KeyGroup<'_>| {
            let slots = group.row.slots?;
            let Some((_, seconds)) = &self.last else { return Some(1.0) };
            let items = self.newest.map_or(0.0, |newest| slots.since(newest, *seconds));
            Some(items / group.drawn_items)
        };
        // A few items of a sample do not tell their own share of a window, but all small groups together do.
        let is_sure = |group: &KeyGroup<'_>| draw.scale <= 1.0 || group.is_large();
        let mean_share = |sure: bool| {
            let known = groups.iter().filter(|group| is_sure(group) == sure);
            let known = known.filter_map(|group| Some((group, share(group)?)));
            let (items, within) = known.fold((0.0, 0.0), |(items, within), (group, share)| {
                let all = group.row.items * group.row.keys;
                (items + all, within + all * share)
            });
            if items > 0.0 { within / items } else { 1.0 }
        };
        let of_large = mean_share(true);
        let of_small = mean_share(false);
        let mut matches = Vec::with_capacity(groups.len());
        for group in &groups {
            let own = share(group).unwrap_or(of_large);
            let share = if is_sure(group) { own } else { of_small };
            if self.drawn.is_empty() {
                // All items are one group, of which the sample has its part.
                let items = group.drawn_items * draw.scale;
                matches.push((items, items * share));
                continue;
            }
            let keys = group.row.keys / group.behind;
            for size in &*sizes.behind(group.units) {
                let items = size.items * group.items_of_a_unit;
                matches.push((items * keys * size.groups, items * share));
            }
        }
        let matches = MatchedItems(matches);
        if draw.scale > 1.0 { matches.merged() } else { matches }
    }
}

impl FoundItems {
    pub(crate) fn mean(&self, sum: f64) -> f64 {
        sum / float(self.items).max(1.0)
    }

    fn add(&mut self, item: &PreparedItem<'_>) {
        self.items += 1;
        self.stored_bytes += item.stored_bytes;
        self.read += item.read;
        self.write += item.write;
        self.create += item.create;
    }
}

impl MatchedItems {
    pub(crate) fn single() -> Self {
        Self(vec![(1.0, 1.0)])
    }

    fn merged(self) -> Self {
        let mut merged = BTreeMap::new();
        for (weight, found) in self.0 {
            #[expect(clippy::cast_possible_truncation, reason = "some thousands")]
            let bucket = (found.max(1e-9).ln() * 100.0).round() as i64;
            let (sum, all) = merged.entry(bucket).or_insert((0.0, 0.0));
            *sum += weight;
            *all += weight * found;
        }
        let merged = merged.into_values().filter(|(weight, _)| *weight > 0.0);
        Self(merged.map(|(weight, all)| (weight, all / weight)).collect())
    }

    pub(crate) fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let (sum, weight) = self.0.iter().fold((0.0, 0.0), |(sum, all), (weight, found)| {
            (sum + weight * of(*found), all + weight)
        });
        if weight > 0.0 { sum / weight } else { of(0.0) }
    }
}

fn selected_bytes(paths: &[PropertyPath], item: &PreparedItem<'_>) -> u64 {
    let bytes = paths.iter().map(|path| {
        let name = path.names().last().map_or(0, String::len);
        let value = path.find(item.value).map_or(0, |value| value.to_string().len());
        // Quotation marks, a colon and a comma.
        (name + value + 4) as u64
    });
    bytes.sum()
}

/// Returns true if a value meets a condition, as the service compares: texts by their code points,
/// numbers by size, and nothing else in a range.
fn meets(value: Option<&Value>, condition: &FilterCondition) -> bool {
    let Some(value) = KeyValue::from_property(value) else { return false };
    match condition {
        FilterCondition::Equals(wanted) => value == *wanted,
        FilterCondition::OneOf(wanted) => wanted.contains(&value),
        FilterCondition::Range(range) => {
            let is_from =
                |from: &KeyValue| compared(&value, from).is_some_and(std::cmp::Ordering::is_ge);
            let is_below =
                |to: &KeyValue| compared(&value, to).is_some_and(std::cmp::Ordering::is_lt);
            range.from.as_ref().is_none_or(is_from) && range.to.as_ref().is_none_or(is_below)
        }
    }
}
