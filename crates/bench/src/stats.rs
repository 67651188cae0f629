//! What many measurements say.

use std::time::Duration;

/// Durations in ascending order.
#[derive(Debug, Clone)]
pub(crate) struct Sorted(Vec<Duration>);

impl From<Vec<Duration>> for Sorted {
    fn from(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }
}

impl Sorted {
    /// The smallest duration that at least `percent` of all do not exceed (nearest rank); zero when
    /// there is none.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (percent * self.0.len()).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// The longest.
    pub(crate) fn max(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }
}

/// The slope of the straight line that is nearest to the points (least squares); `None` when they
/// do not make a line.
pub(crate) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a few points")]
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(milliseconds: impl IntoIterator<Item = u64>) -> Sorted {
        milliseconds.into_iter().map(Duration::from_millis).collect::<Vec<_>>().into()
    }

    #[test]
    fn a_percentile_is_one_of_the_durations() {
        let hundred = sorted((1..=100).rev());
        let found = [0, 1, 50, 99, 100].map(|percent| hundred.percentile(percent).as_millis());
        assert_eq!(found, [1, 1, 50, 99, 100]);
        let three = sorted([30, 10, 20]);
        let found = [1, 33, 34, 50, 67, 99].map(|percent| three.percentile(percent).as_millis());
        assert_eq!(found, [10, 10, 20, 20, 30, 30]);
        assert_eq!((three.max().as_millis(), sorted([7]).percentile(50).as_millis()), (30, 7));
        assert_eq!((sorted([]).percentile(99), sorted([]).max()), (Duration::ZERO, Duration::ZERO));
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
}
