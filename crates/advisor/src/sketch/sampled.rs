//! A uniform sample of bounded size.

/// A uniform sample of a stream by the hash of each element: at most `most` elements, and all while there are
/// no more.
#[derive(Clone, Debug)]
pub(crate) struct UniformSample<T> {
    most: usize,
    below: u64,
    kept: Vec<(u64, T)>,
}

impl<T> UniformSample<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, below: u64::MAX, kept: Vec::new() }
    }

    pub(crate) fn offer(&mut self, hash: u64, make: impl FnOnce() -> T) {
        if hash >= self.below {
            return;
        }
        self.kept.push((hash, make()));
        while self.kept.len() > self.most {
            self.below /= 2;
            let below = self.below;
            self.kept.retain(|(hash, _)| *hash < below);
        }
    }

    pub(crate) fn is_all(&self) -> bool {
        self.below == u64::MAX
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.kept.iter().map(|(_, element)| element)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
}
