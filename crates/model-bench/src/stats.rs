//! Means and percentiles.

/// The mean; 0 of nothing.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    if n > 0.0 { sum / n } else { 0.0 }
}

/// The smallest of the values that at least so many hundredths of them do not exceed (nearest
/// rank); 0 of nothing.
pub(crate) fn percentile(values: &[f64], hundredths: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * hundredths).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_are_values_by_their_rank() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let found = [50, 99, 100].map(|p| percentile(&values, p).to_string());
        assert_eq!(found, ["100", "198", "200"]);
        let found = [percentile(&[7.0], 50), percentile(&[7.0], 99), percentile(&[], 50), mean([])];
        assert_eq!(found.map(|value| value.to_string()), ["7", "7", "0", "0"]);
    }

    proptest! {
        #[test]
        fn a_percentile_has_its_share_below_it(
            values in prop::collection::vec(-1e6..1e6, 1..80), p in 1_usize..=100,
        ) {
            let found = percentile(&values, p);
            let not_above = values.iter().filter(|value| **value <= found).count();
            let below = values.iter().filter(|value| **value < found).count();
            prop_assert!(not_above * 100 >= values.len() * p);
            prop_assert!(below * 100 < values.len() * p);
            let mean = mean(values.iter().copied());
            prop_assert!(percentile(&values, 1) <= mean + 1e-6);
            prop_assert!(mean <= percentile(&values, 100) + 1e-6);
        }
    }
}
