//! Synthetic keys: a fixed number of buckets, chosen by a hash that is the same in any process and language: XXH64 with the
//! seed 0 (in .NET `System.IO.Hashing.XxHash64`). The guide's `GetHashCode` differs in each process.
//!
//! Names of buckets are `0` to `n - 1` without leading zeros. So the names of few buckets are among the names of more, and
//! a reader that knows the largest number that was ever used finds all items. Stored items keep their old key.

use std::num::NonZeroU32;

use twox_hash::XxHash64;

/// Returns the name of the bucket of `value`, one of `n_buckets`, such as `7`.
pub fn bucket(value: &str, n_buckets: NonZeroU32) -> String {
    let hash = XxHash64::oneshot(0, value.as_bytes());
    (hash % u64::from(n_buckets.get())).to_string()
}

/// Returns the names of all buckets, `0` first.
pub fn names(n_buckets: NonZeroU32) -> impl Iterator<Item = String> {
    (0..n_buckets.get()).map(|bucket| bucket.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket_of(value: &str, n: u32) -> String {
        bucket(value, NonZeroU32::new(n).unwrap())
    }

    /// The vectors of the specification of XXH64, and the results of Python's `xxhash` for the others. A change
    /// of any would lose stored items.
    #[test]
    fn buckets_are_the_same_for_ever() {
        let vectors = [
            ("", 0xEF46_DB37_51D8_E999),
            ("a", 0xD24E_C4F1_A98C_6E5B),
            ("abc", 0x44BC_2CF5_AD77_0999),
        ];
        for (value, hash) in vectors {
            assert_eq!(XxHash64::oneshot(0, value.as_bytes()), hash, "{value}");
        }
        let names = ["", "reuters", "Reuters", "user-1", "é", "𝄞"].map(|id| bucket_of(id, 100));
        assert_eq!(names, ["21", "60", "24", "56", "48", "43"]);
    }
}
