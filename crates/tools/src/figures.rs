//! Numbers as text.

use std::time::Duration;

/// The text of a missing number.
pub const NONE: &str = "-";

/// Returns the mean of `total` over `count`, with `decimals` decimals.
pub fn each(total: f64, count: usize, decimals: usize) -> String {
    if count == 0 { NONE.into() } else { format!("{:.decimals$}", total / number(count)) }
}

/// Returns the number a second.
pub fn rate(count: usize, took: Duration) -> String {
    format!("{:.0}", number(count) / took.as_secs_f64())
}

/// Converts a count to a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
pub fn number(count: usize) -> f64 {
    count as f64
}

/// Returns milliseconds with two decimals.
pub fn milliseconds(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1_000.0)
}

/// Returns MiB with one decimal.
pub fn mebibytes(kibibytes: u64) -> String {
    let tenths = (kibibytes * 10).div_ceil(1_024);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Returns a whole number with commas.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1_000, 1_000_000].map(thousands), ["0", "999", "1,000", "1,000,000"]);
        assert_eq!(
            (each(5.0, 4, 2), rate(3, Duration::from_millis(500))),
            ("1.25".into(), "6".into())
        );
        assert_eq!([0, 1, 1_024, 20_480].map(mebibytes), ["0.0", "0.1", "1.0", "20.0"]);
    }
}
