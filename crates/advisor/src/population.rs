//! The keys of the container behind those of the sample.
//!
//! The file is the container itself, or a random sample of it, in one of two ways ([`ValidationOptions`]): of
//! items, each with the same probability; or of whole keys, each with all its items. A unit is drawn with
//! one probability: an item, or a key with its items. The sample has `k` of the
//! units of a group, the container `N`, and [`GroupSizes`] tells which `N` are behind each `k`. Each unit has
//! the mean number of items of the units of the group in the sample. So of whole keys, a group within
//! one of them, such as its months, is complete, and one over many of them, such as a tag, is not.
//!
//! The certainty of an answer comes from random halves of the sample: half of the units, drawn without
//! replacement, since a repeated unit would look like two of a group. The halves differ as much as samples
//! of the whole size do (the delete-half jackknife of Shao and Wu, *A general theory for jackknife variance
//! estimation*, 1989). A half is drawn from the counts:
//! of a group with `k` units it has the number of `k` coins that fall on one side. The halves of two
//! candidates are independent of each other, which makes differences between them less sure, not more.
//!
//! [`ValidationOptions`]: crate::ValidationOptions

use crate::{
    report::EstimatedNumber,
    sketch::{KeyCounts, KeyRow, hash},
    unseen::{GroupFrequencies, GroupSize, GroupSizes, MAX_SMALL_GROUP, rounded},
    words::float,
};

/// The draw of the sample, or of a half of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampleDraw {
    /// Items in the container over those of the sample, at least 1.
    pub(crate) scale: f64,
    /// True when whole keys were drawn.
    pub(crate) whole_keys: bool,
    /// The number of a half of the sample. `None` is the whole sample.
    pub(crate) half: Option<u64>,
}

impl SampleDraw {
    /// Returns the part of a group that `items` are; of a half, a random part.
    pub(crate) fn part<S>(self, items: f64, group: &KeyGroup<'_, S>) -> f64 {
        let Some(half) = self.half.filter(|_| items >= 1.0) else { return items };
        2.0 * float(coins(rounded(items) as u64, hash(&(half, group.row.hash, "part"))))
    }
}

/// The groups behind those that were counted.
#[derive(Debug)]
pub(crate) struct Population<'a, S> {
    /// A row for each group of the sample, as large as those behind it are on average.
    pub(crate) groups: Vec<KeyGroup<'a, S>>,
    /// The number of groups in the container.
    pub(crate) cardinality: EstimatedNumber,
    pub(crate) sizes: GroupSizes,
}

/// A group of the sample, and those behind it in the container.
#[derive(Debug)]
pub(crate) struct KeyGroup<'a, S> {
    /// The items and bytes of a group in the container, and the number of groups that it stands for.
    pub(crate) row: KeyRow<'a, S>,
    /// The number of groups behind this one of the sample.
    pub(crate) behind: f64,
    /// The bytes in the container behind those of the sample, in any group.
    pub(crate) all_bytes: f64,
    /// Its items in the whole sample.
    pub(crate) drawn_items: f64,
    /// Its units in the sample or its half, and the items of one.
    pub(crate) units: f64,
    pub(crate) items_of_a_unit: f64,
}

impl<'a, S: Default> Population<'a, S> {
    /// Returns the groups of the container. For a half of the sample, `near` are the sizes behind the whole
    /// sample.
    pub(crate) fn new(
        tally: &'a KeyCounts<S>,
        draw: SampleDraw,
        near: Option<&GroupSizes>,
    ) -> Self {
        let scale = if draw.half.is_some() { 2.0 * draw.scale } else { draw.scale };
        let groups = tally.rows().into_iter().filter_map(|row| KeyGroup::new(row, draw));
        let mut groups: Vec<_> = groups.collect();
        let mut frequencies: GroupFrequencies = [0.0; MAX_SMALL_GROUP + 1];
        for group in groups.iter().filter(|group| !group.is_large()) {
            frequencies[rounded(group.units)] += group.row.keys;
        }
        let has_large = groups.iter().any(KeyGroup::is_large);
        let sizes = GroupSizes::new(&frequencies, has_large, scale, near);
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

impl<'a, S> KeyGroup<'a, S> {
    fn new(mut row: KeyRow<'a, S>, draw: SampleDraw) -> Option<Self> {
        let drawn_items = row.items;
        let units = |row: &KeyRow<'_, S>| if draw.whole_keys { row.clusters } else { row.items };
        if let Some(half) = draw.half {
            let units = units(&row);
            halve(&mut row, units, half)?;
        }
        let units = units(&row).max(1.0);
        let items_of_a_unit = row.items / units;
        Some(Self { row, behind: 1.0, all_bytes: 0.0, drawn_items, units, items_of_a_unit })
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

    /// Returns true if the sample has enough of the group for shares of its own.
    pub(crate) fn is_large(&self) -> bool {
        rounded(self.units) > MAX_SMALL_GROUP
    }
}

/// Keeps a random half of the units of a row. Returns `None` when none remains.
fn halve<S>(row: &mut KeyRow<'_, S>, units: f64, half: u64) -> Option<()> {
    let n = rounded(units) as u64;
    let kept = float(coins(n, hash(&(half, row.hash)))) / float(n);
    row.items *= kept;
    row.bytes *= kept;
    row.clusters *= kept;
    (kept > 0.0).then_some(())
}

/// Returns the number of `n` coins that fall on one side.
fn coins(n: u64, seed: u64) -> u64 {
    // The coins that fall one by one. More coins follow a normal distribution.
    const MAX_SINGLE_COINS: u64 = 1_024;
    let bits = |word: u64, n: u64| {
        let random = hash(&(seed, word));
        u64::from((if n < 64 { random & ((1 << n) - 1) } else { random }).count_ones())
    };
    if n > MAX_SINGLE_COINS {
        let words = MAX_SINGLE_COINS / 64;
        let sum: u64 = (0..words).map(|word| bits(word, 64)).sum();
        let normal = (float(sum) - 512.0) / 16.0;
        let kept = (float(n) / 2.0 + normal * float(n).sqrt() / 2.0).clamp(0.0, float(n));
        return rounded(kept) as u64;
    }
    (0..n.div_ceil(64)).map(|word| bits(word, (n - word * 64).min(64))).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn half_of_the_coins_fall_on_one_side(n in 1..5_000_u64) {
            let all: Vec<f64> = (0..400_u64).map(|seed| float(coins(n, seed))).collect();
            let mean = all.iter().sum::<f64>() / 400.0;
            let variance = all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 400.0;
            let expected = float(n) / 4.0;
            prop_assert!((mean - float(n) / 2.0).abs() < 5.0 * (expected / 400.0).sqrt() + 1.0);
            prop_assert!((variance / expected - 1.0).abs() < 0.5, "{} for {}", variance, expected);
        }
    }
}
