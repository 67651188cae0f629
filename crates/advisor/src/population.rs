//! The keys of the container behind those of the sample.
//!
//! The file is the container itself, or a random sample of it, in one of two ways ([`crate::ValidationOptions`]): of items,
//! or of whole keys with all their items. Such a unit is drawn with one probability. The sample has `k` of the units of a
//! group, the container `N`, and [`GroupSizes`] tells which `N` are behind each `k`. Each unit has the mean number of items
//! of the units of the group in the sample. So of whole keys, a group within one of them, such as its months, is complete,
//! and one over many of them, such as a tag, is not.

use crate::{
    report::EstimatedNumber,
    sketch::{KeyCounts, KeyRow},
    unseen::{GroupFrequencies, GroupSize, GroupSizes, MAX_SMALL_GROUP, rounded},
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleDraw {
    pub(crate) scale: f64,
    pub(crate) whole_keys: bool,
}

#[derive(Debug)]
pub(crate) struct Population<'a> {
    /// A row for each group of the sample, as large as those behind it are on average.
    pub(crate) groups: Vec<KeyGroup<'a>>,
    pub(crate) cardinality: EstimatedNumber,
    pub(crate) sizes: GroupSizes,
}

#[derive(Debug)]
pub(crate) struct KeyGroup<'a> {
    /// The items and bytes of a group in the container, and the number of groups that it stands for.
    pub(crate) row: KeyRow<'a>,
    pub(crate) behind: f64,
    pub(crate) all_bytes: f64,
    pub(crate) drawn_items: f64,
    /// Its units in the sample, and the items of one.
    pub(crate) units: f64,
    pub(crate) items_of_a_unit: f64,
}

impl<'a> Population<'a> {
    pub(crate) fn new(tally: &'a KeyCounts, draw: SampleDraw) -> Self {
        let scale = draw.scale;
        let groups = tally.rows().into_iter().map(|row| KeyGroup::new(row, draw));
        let mut groups: Vec<_> = groups.collect();
        let mut frequencies: GroupFrequencies = [0.0; MAX_SMALL_GROUP + 1];
        for group in groups.iter().filter(|group| !group.is_large()) {
            frequencies[rounded(group.units)] += group.row.keys;
        }
        let has_large = groups.iter().any(KeyGroup::is_large);
        let sizes = GroupSizes::new(&frequencies, has_large, scale);
        for group in &mut groups {
            group.scale(&sizes.behind(group.units), scale);
        }
        let of_sample = tally.cardinality();
        let value: f64 = groups.iter().map(|group| group.row.keys).sum();
        let cardinality = EstimatedNumber {
            value,
            exact: false,
            low: of_sample.low.min(value),
            high: value.max(of_sample.high + frequencies[1] * (scale - 1.0)),
        };
        Self { groups, cardinality: if scale > 1.0 { cardinality } else { of_sample }, sizes }
    }
}

impl<'a> KeyGroup<'a> {
    fn new(row: KeyRow<'a>, draw: SampleDraw) -> Self {
        let drawn_items = row.items;
        let units = if draw.whole_keys { row.clusters } else { row.items }.max(1.0);
        let items_of_a_unit = row.items / units;
        Self { row, behind: 1.0, all_bytes: 0.0, drawn_items, units, items_of_a_unit }
    }

    fn scale(&mut self, sizes: &[GroupSize], scale: f64) {
        let row = &mut self.row;
        self.all_bytes = row.bytes * row.keys * scale;
        self.behind = sizes.iter().map(|size| size.groups).sum();
        let units: f64 = sizes.iter().map(|size| size.groups * size.items).sum();
        let times = units / self.behind / self.units;
        row.items *= times;
        row.bytes *= times;
        row.keys *= self.behind;
    }

    pub(crate) fn is_large(&self) -> bool {
        rounded(self.units) > MAX_SMALL_GROUP
    }
}
