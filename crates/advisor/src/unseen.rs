//! The groups of a container behind those of a random sample.
//!
//! A group is the items with one key, or with the values that a request asks for. Of one with an item in the sample, the
//! container may have one, or a hundred; and of most small groups the sample has none. The *frequencies of frequencies*
//! tell more: the number of groups with one item in the sample, with two, and so on (the problem of the unseen species):
//!
//! 1. A group with more than [`MAX_SMALL_GROUP`] items in the sample has `k / q`, to within 20 %.
//! 2. The others come from an unknown mixture of sizes on a grid. Its shares are those that make the frequencies most
//!    likely (a nonparametric maximum-likelihood estimate, by expectation and maximization).
//! 3. Bayes' rule then gives the sizes behind the groups with `k` items. A size that the sample shows with the
//!    probability `p` stands for `1 / p` groups: also those that were not seen.
//! 4. Where no value comes twice, each is taken to be unique, as ids are. Beside large groups it stands for anything
//!    between one group and one for each item, and the geometric mean is taken.
//!
//! The mean over items, which requests find, is right to a few percent. The number of groups is not. Its bounds are those
//! of Charikar and others (*Towards estimation error guarantees for distinct values*, 2000).

use std::borrow::Cow;

use crate::words::{float, size};

/// The items in the sample of a small group at most. A larger group has `scale` times its items.
pub(crate) const MAX_SMALL_GROUP: usize = 30;

const SIZE_STEP: f64 = 1.4;

const ROUNDS: usize = 200;

#[derive(Clone, Debug, Default)]
pub(crate) struct GroupSizes {
    scale: f64,
    /// The sizes behind each number up to [`MAX_SMALL_GROUP`].
    behind: Vec<Vec<GroupSize>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GroupSize {
    pub(crate) items: f64,
    pub(crate) groups: f64,
}

/// The numbers of groups with 0, 1, 2 … [`MAX_SMALL_GROUP`] items in the sample.
pub(crate) type GroupFrequencies = [f64; MAX_SMALL_GROUP + 1];

impl GroupSizes {
    /// `has_large` is true if there are larger groups, too. The container has `scale` times the items of the sample.
    pub(crate) fn new(frequencies: &GroupFrequencies, has_large: bool, scale: f64) -> Self {
        let mut sizes = Self { scale, behind: Vec::new() };
        let once = frequencies[1];
        let more = frequencies[2..].iter().sum::<f64>();
        if scale <= 1.0 || once + more <= 0.0 {
            return sizes;
        }
        if more <= 0.0 {
            let items = if has_large { scale.sqrt() } else { 1.0 };
            sizes.behind = vec![Vec::new(), vec![GroupSize { items, groups: scale / items }]];
            return sizes;
        }
        let grid = grid(scale);
        let seen: Vec<Vec<f64>> = grid.iter().map(|items| seen(*items, scale)).collect();
        let mut shares = vec![1.0; grid.len()];
        for _ in 0..ROUNDS {
            let mut next = vec![0.0; grid.len()];
            for (k, n) in frequencies.iter().enumerate().skip(1).filter(|(_, n)| **n > 0.0) {
                let posterior = posterior(&shares, &seen, k);
                next.iter_mut().zip(posterior).for_each(|(next, share)| *next += n * share);
            }
            shares = next;
        }
        sizes.behind = (0..=MAX_SMALL_GROUP)
            .map(|k| {
                let posterior = posterior(&shares, &seen, k);
                let of = grid.iter().zip(&seen).zip(posterior);
                let of = of.map(|((items, seen), share)| GroupSize {
                    items: *items,
                    groups: share / seen[0],
                });
                of.filter(|size| k > 0 && size.groups > 1e-9).collect()
            })
            .collect();
        sizes
    }

    pub(crate) fn behind(&self, items: f64) -> Cow<'_, [GroupSize]> {
        match self.behind.get(rounded(items)) {
            Some(sizes) if !sizes.is_empty() => Cow::Borrowed(sizes),
            _ => Cow::Owned(vec![GroupSize { items: items * self.scale, groups: 1.0 }]),
        }
    }
}

/// Returns sizes from 1 up to those that always have more than [`MAX_SMALL_GROUP`] items in the sample.
fn grid(scale: f64) -> Vec<f64> {
    let mut grid = vec![1.0_f64];
    let mut last = 1.0_f64;
    while last < 2.5 * float(MAX_SMALL_GROUP as u64) * scale {
        last = (last * SIZE_STEP).ceil().max(last + 1.0);
        grid.push(last);
    }
    grid
}

/// The probability that a sample has any of `items`, then those of 1, 2 … where it has any.
fn seen(items: f64, scale: f64) -> Vec<f64> {
    let q = 1.0 / scale;
    let mut probability = (items * (-q).ln_1p()).exp();
    let any = -(items * (-q).ln_1p()).exp_m1();
    let mut all = vec![any];
    for k in 0..MAX_SMALL_GROUP {
        let k = float(k as u64);
        probability *= (items - k).max(0.0) / (k + 1.0) * q / (1.0 - q);
        all.push(probability / any);
    }
    all
}

fn posterior(shares: &[f64], seen: &[Vec<f64>], k: usize) -> Vec<f64> {
    let weights: Vec<f64> = shares.iter().zip(seen).map(|(share, seen)| share * seen[k]).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| if sum > 0.0 { weight / sum } else { 0.0 }).collect()
}

pub(crate) fn rounded(items: f64) -> usize {
    size(items.max(1.0))
}
