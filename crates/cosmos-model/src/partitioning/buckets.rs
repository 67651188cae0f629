//! Synthetic keys: a fixed number of buckets, chosen by a stable hash.
//!
//! The hash is XXH64 with the seed 0: specified with test vectors, and available for other languages
//! (in .NET as `System.IO.Hashing.XxHash64`). So any process, machine or version finds the same
//! bucket. The guide uses `GetHashCode`, which differs in each process of .NET, and `Math.Abs` of it,
//! which fails for the smallest integer; it also deals buckets out by a counter, which
//! leaves the bucket of an item unknown. Here the hash is unsigned, and nothing is counted.
//!
//! Names of buckets are `0` to `n - 1` without leading zeros. So the names of few buckets are among
//! the names of more, and a reader that knows the largest number that was ever used finds all items.
//! To use another number moves the bucket of almost every value: items that are stored keep their
//! old key.

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

    /// The guide's hash of 100 ids a bucket is even, too, but only within one process.
    #[test]
    fn ids_in_sequence_are_spread_evenly() {
        let mut sizes = [0_u32; 50];
        for id in 0..50_000 {
            let bucket = bucket_of(&format!("post-{id}"), 50);
            sizes[bucket.parse::<usize>().unwrap()] += 1;
        }
        // Each is within 20 % of 1,000, which is six standard deviations.
        assert!(sizes.iter().all(|size| (800..=1200).contains(size)), "{sizes:?}");
    }
}
