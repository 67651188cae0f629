//! Shares of partitions: Gini coefficient, Lorenz curve, the largest.

use cosmos_model::partitioning::Key;

use crate::{
    report::{Distribution, KeyShare},
    words::float,
};

const MAX_TOP_KEYS: usize = 10;

const CURVE_POINTS: usize = 100;

/// Takes of each partition its key, its value, and the number of partitions that it stands for.
pub(crate) fn distribution(mut parts: Vec<(&Key, f64, f64)>) -> Distribution {
    parts.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.2.total_cmp(&a.2)));
    let total: f64 = parts.iter().map(|(_, value, keys)| value * keys).sum();
    let n_keys: f64 = parts.iter().map(|(_, _, keys)| keys).sum();
    if total <= 0.0 || n_keys <= 0.0 {
        return Distribution::default();
    }
    // Equal values are sorted by their keys, so that each run gives the same.
    let least = parts.iter().rev().nth(MAX_TOP_KEYS - 1).map_or(0.0, |(_, value, _)| *value);
    let top = parts.iter().rev().take_while(|(_, value, _)| *value >= least);
    let top = top.map(|(key, value, _)| KeyShare { key: key.to_string(), share: value / total });
    let mut top: Vec<_> = top.collect();
    top.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.key.cmp(&b.key)));
    top.truncate(MAX_TOP_KEYS);
    let mut keys = 0.0;
    let mut sum = 0.0;
    let mut curve = vec![(0.0, 0.0)];
    for (_, value, of_part) in &parts {
        keys += of_part / n_keys;
        sum += value / total * of_part;
        let next = float(curve.len() as u64) / float(CURVE_POINTS as u64);
        if keys >= next && curve.len() < CURVE_POINTS {
            curve.push((keys, sum));
        }
    }
    curve.push((1.0, 1.0));
    Distribution {
        gini: gini(parts.iter().map(|(_, value, keys)| (*value, *keys))),
        largest: top.first().map_or(0.0, |top| top.share),
        mean: total / n_keys,
        top,
        curve,
    }
}

/// Each value is with the number of partitions that have it. 0 when all have the same, near 1 when one has all.
pub(crate) fn gini(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = values.iter().map(|(value, keys)| value * keys).sum();
    let n_keys: f64 = values.iter().map(|(_, keys)| keys).sum();
    // Twice the area below the Lorenz curve.
    let mut below = 0.0;
    let mut sum = 0.0;
    for (value, keys) in values {
        let share = value * keys / total.max(f64::MIN_POSITIVE);
        below += keys / n_keys * (2.0 * sum + share);
        sum += share;
    }
    if total > 0.0 { (1.0 - below).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_values(values: &[(f64, f64)]) -> Distribution {
        let key = Key::from("k");
        distribution(values.iter().map(|&(value, keys)| (&key, value, keys)).collect())
    }

    #[test]
    fn equal_partitions_have_no_gini_and_one_of_many_has_almost_one() {
        assert!(from_values(&[(5.0, 1.0); 20]).gini < 1e-9);
        let one_of_many = from_values(&[(0.0, 99.0), (1.0, 1.0)]);
        assert!((one_of_many.gini - 0.99).abs() < 1e-9, "{one_of_many:?}");
        assert_eq!(from_values(&[]), Distribution::default());
        // The Gini coefficient of 1, 2, 3 is 2/9.
        assert!((from_values(&[(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)]).gini - 2.0 / 9.0).abs() < 1e-9);
    }
}
