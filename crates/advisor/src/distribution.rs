//! Shares of partitions: Gini coefficient, Lorenz curve, the largest.

use tributary_partitioning::Key;

use crate::report::{Distribution, KeyShare};

/// Keys that a report lists.
const TOP: usize = 10;

/// Points of a curve, besides its start.
const POINTS: usize = 100;

/// Something that a partition has.
pub(crate) struct Part<'a> {
    pub(crate) key: &'a Key,
    pub(crate) value: f64,
    /// So many partitions does this stand for.
    pub(crate) keys: f64,
}

/// Returns how the values are distributed over the partitions.
pub(crate) fn distribution(mut parts: Vec<Part<'_>>) -> Distribution {
    parts.sort_by(|a, b| a.value.total_cmp(&b.value).then_with(|| b.keys.total_cmp(&a.keys)));
    let total: f64 = parts.iter().map(|part| part.value * part.keys).sum();
    let n_keys: f64 = parts.iter().map(|part| part.keys).sum();
    if total <= 0.0 || n_keys <= 0.0 {
        return Distribution::default();
    }
    let share = |part: &Part<'_>| part.value / total;
    let mut top: Vec<_> = parts.iter().rev().take(TOP).collect();
    // Of equal ones, always the same come first.
    top.sort_by(|a, b| {
        b.value.total_cmp(&a.value).then_with(|| a.key.to_string().cmp(&b.key.to_string()))
    });
    let top =
        top.into_iter().map(|part| KeyShare { key: part.key.to_string(), share: share(part) });
    let (mut keys, mut sum, mut gini) = (0.0, 0.0, 1.0);
    let mut curve = vec![(0.0, 0.0)];
    for part in &parts {
        let (before, width) = (sum, part.keys / n_keys);
        keys += width;
        sum += share(part) * part.keys;
        gini -= width * (before + sum);
        #[expect(clippy::cast_precision_loss, reason = "a hundred")]
        let next = curve.len() as f64 / POINTS as f64;
        if keys >= next && curve.len() < POINTS {
            curve.push((keys, sum));
        }
    }
    curve.push((1.0, 1.0));
    Distribution {
        gini: gini.clamp(0.0, 1.0),
        largest: parts.last().map_or(0.0, share),
        mean: total / n_keys,
        top: top.collect(),
        curve,
    }
}
