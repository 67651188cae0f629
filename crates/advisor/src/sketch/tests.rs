//! Counts by key against exact ones.

use cosmos_model::partitioning::KeyValue;
use proptest::prelude::*;

use super::*;

fn key(n: u64) -> Key {
    std::iter::once(KeyValue::Text(n.to_string())).collect()
}

fn tally(items: impl IntoIterator<Item = (u64, u64)>) -> KeyCounts {
    let mut tally = KeyCounts::new();
    for (k, bytes) in items {
        tally.add(hash(&k), || key(k), bytes, 0, None);
    }
    tally
}

proptest! {
    #[test]
    fn a_sample_is_bounded_and_depends_on_no_order(
        mut hashes in prop::collection::vec(any::<u64>(), 0..2_000),
    ) {
        let sample = |hashes: &[u64]| {
            let mut sampled = UniformSample::new(100);
            for hash in hashes {
                sampled.offer(*hash, || *hash);
            }
            let mut kept: Vec<_> = sampled.iter().copied().collect();
            kept.sort_unstable();
            (kept, sampled.is_all())
        };
        hashes.retain(|hash| *hash < u64::MAX);
        let (kept, is_all) = sample(&hashes);
        prop_assert!(kept.len() <= 100);
        prop_assert_eq!(is_all, hashes.len() <= 100);
        hashes.reverse();
        prop_assert_eq!(sample(&hashes).0, kept);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    /// A key with more than 0.3 % of the data is found by its name, and its size is right to within 0.1 % of all, at
    /// any place.
    #[test]
    fn a_frequent_key_is_found_in_any_order(
        counts in prop::collection::vec(200..2_000_u64, 1..8),
        at in any::<prop::sample::Index>(),
    ) {
        let frequent: Vec<_> = counts.iter().enumerate().map(|(n, &count)| (1_000_000 + n as u64, count)).collect();
        let frequent: Vec<_> = frequent.into_iter().filter(|&(_, n)| n > 200).collect();
        let rare: Vec<_> = (0..50_000_u64).collect();
        let block = || frequent.iter().flat_map(|&(k, n)| std::iter::repeat_n(k, usize::try_from(n).unwrap()));
        // In blocks, somewhere among the rare ones.
        let at = at.index(rare.len());
        let blocks: Vec<_> = rare[..at].iter().copied().chain(block()).chain(rare[at..].iter().copied()).collect();
        let mut sorted = blocks.clone();
        sorted.sort_unstable();
        let reversed = sorted.iter().rev().copied().collect();
        let mut shuffled = blocks.clone();
        shuffled.sort_unstable_by_key(hash);
        let n_items = float(blocks.len() as u64);
        let frequent: Vec<_> = frequent.into_iter().filter(|&(_, n)| float(n) > 0.003 * n_items).collect();
        for order in [blocks, sorted, reversed, shuffled] {
            let tally = tally(order.into_iter().map(|k| (k, 100)));
            let rows = tally.rows();
            let n_keys = 50_000.0 + float(counts.len() as u64);
            prop_assert!((tally.cardinality().value / n_keys - 1.0).abs() < 0.02);
            for &(k, n) in &frequent {
                let row = rows.iter().find(|row| row.key == &key(k));
                prop_assert!(row.is_some(), "key {k} with {n} items is missing");
                let error = (row.map_or(0.0, |row| row.items) - float(n)).abs() / n_items;
                prop_assert!(error < 0.001, "key {k} with {n} items: an error of {error}");
            }
        }
    }
}
