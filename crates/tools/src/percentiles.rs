//! Means, percentiles and slopes of measurements.

use std::cmp::Ordering;

/// Measurements in ascending order: durations or numbers.
#[derive(Debug, Clone)]
pub struct Sorted<T>(Vec<T>);

impl<T: PartialOrd> From<Vec<T>> for Sorted<T> {
    fn from(mut values: Vec<T>) -> Self {
        values.sort_unstable_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
        Self(values)
    }
}

impl<T: Copy + Default> Sorted<T> {
    /// Returns the smallest value that at least `percent` of all values do not exceed (nearest
    /// rank); zero when there is none.
    pub fn percentile(&self, percent: usize) -> T {
        let rank = (percent * self.0.len()).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Returns the largest value; zero when there is none.
    pub fn max(&self) -> T {
        self.0.last().copied().unwrap_or_default()
    }
}

/// Returns the mean; 0 without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sum = 0.0;
    let mut n = 0.0;
    for value in values {
        sum += value;
        n += 1.0;
    }
    if n > 0.0 { sum / n } else { 0.0 }
}

/// Returns the slope of the straight line nearest to the points (least squares); `None` when the points make
/// no line.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let of = |value: fn(&(f64, f64)) -> f64| mean(points.iter().map(value));
    let mean_x = of(|point| point.0);
    let mean_y = of(|point| point.1);
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn sorted(milliseconds: impl IntoIterator<Item = u64>) -> Sorted<Duration> {
        milliseconds.into_iter().map(Duration::from_millis).collect::<Vec<_>>().into()
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let hundred = sorted((1..=100).rev());
        let found = [0, 1, 50, 99, 100].map(|percent| hundred.percentile(percent).as_millis());
        assert_eq!(found, [1, 1, 50, 99, 100]);
        let three = sorted([30, 10, 20]);
        let found = [1, 33, 34, 50, 67, 99].map(|percent| three.percentile(percent).as_millis());
        assert_eq!(found, [10, 10, 20, 20, 30, 30]);
        assert_eq!((three.max().as_millis(), sorted([7]).percentile(50).as_millis()), (30, 7));
        assert_eq!((sorted([]).percentile(99), sorted([]).max()), (Duration::ZERO, Duration::ZERO));
        let numbers = Sorted::from((1..=200).rev().map(f64::from).collect::<Vec<_>>());
        assert_eq!([50, 99, 100].map(|p| numbers.percentile(p).to_string()), ["100", "198", "200"]);
    }

    #[test]
    fn a_slope_is_that_of_the_nearest_line() {
        let close = |points: &[(f64, f64)], expected: f64| {
            assert!((slope(points).unwrap() - expected).abs() < 1e-9, "{points:?}");
        };
        close(&[(0.0, 5.0), (1.0, 7.0), (2.0, 9.0)], 2.0);
        close(&[(0.0, 5.0), (10.0, 5.0)], 0.0);
        close(&[(0.0, 0.0), (1.0, 3.0), (2.0, 0.0)], 0.0);
        assert_eq!(slope(&[]), None);
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }

    proptest! {
        #[test]
        fn a_percentile_has_its_share_below_it(
            values in prop::collection::vec(-1e6..1e6, 1..80), p in 1_usize..=100,
        ) {
            let sorted = Sorted::from(values.clone());
            let found = sorted.percentile(p);
            let not_above = values.iter().filter(|value| **value <= found).count();
            let below = values.iter().filter(|value| **value < found).count();
            prop_assert!(not_above * 100 >= values.len() * p);
            prop_assert!(below * 100 < values.len() * p);
            let mean = mean(values.iter().copied());
            prop_assert!(sorted.percentile(1) <= mean + 1e-6);
            prop_assert!(mean <= sorted.max() + 1e-6);
        }
    }
}
