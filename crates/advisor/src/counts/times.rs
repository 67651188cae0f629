//! The times of a sample without outliers: one date of the year 9999, or one clock that is ahead, must not change the
//! window of `{"last": …}` and the load of a minute. So a time is left out if it is among the outermost half percent, and
//! farther out than three times the step between the outermost two percent. Of fewer than [`MIN_QUANTILE_TIMES`] times, one
//! is left out that lies farther from the others than all of them from each other.

const MIN_QUANTILE_TIMES: usize = 100;

const MIN_OUTLIER_TIMES: usize = 10;

/// The seconds over which creations are spread at least, without the first and the last twentieth: items
/// written within less were imported or copied.
const CREATION_SECONDS: i64 = 86_400;

pub(crate) fn believed(mut times: Vec<i64>) -> Option<(i64, i64)> {
    times.sort_unstable();
    let newest = last_believed(&times)?;
    let mirrored: Vec<i64> = times.iter().rev().map(|time| time.saturating_neg()).collect();
    Some((last_believed(&mirrored)?.saturating_neg(), newest))
}

fn last_believed(sorted: &[i64]) -> Option<i64> {
    let fence = fence(sorted)?;
    let n_believed = sorted.partition_point(|time| *time <= fence);
    sorted.get(n_believed.checked_sub(1)?).copied()
}

fn fence(sorted: &[i64]) -> Option<i64> {
    let first = *sorted.first()?;
    let last = *sorted.last()?;
    let n = sorted.len();
    if n < MIN_OUTLIER_TIMES {
        return Some(last);
    }
    // The quantile, in thousandths.
    let at = |thousandths: usize| sorted[(n - 1) * thousandths / 1_000];
    if n < MIN_QUANTILE_TIMES {
        let next = sorted[n - 2];
        return Some(next.saturating_add(next.saturating_sub(first)));
    }
    let step = at(990).saturating_sub(at(980));
    Some(at(990).saturating_add(step.saturating_mul(3)).max(at(995)))
}

pub(crate) fn newest_allowed(mut times: Vec<i64>) -> i64 {
    times.sort_unstable();
    fence(&times).unwrap_or(i64::MAX)
}

/// Returns true if times of the service can be those of creation: they are spread over a day and more.
pub(crate) fn are_of_creation(mut times: Vec<i64>) -> bool {
    times.sort_unstable();
    let at = |hundredths: usize| times.get(times.len().saturating_sub(1) * hundredths / 100);
    at(95).zip(at(5)).is_some_and(|(late, early)| late.saturating_sub(*early) >= CREATION_SECONDS)
}
