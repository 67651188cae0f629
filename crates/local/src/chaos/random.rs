//! Random numbers from a seed: the same on every machine and in every version.

/// The generator SplitMix64: small, fast, and good enough to decide about faults.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Clone, Debug)]
pub struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// Creates one of the independent streams of a seed.
    pub fn stream(seed: u64, number: u64) -> Self {
        let mut one = Self(seed);
        one.0 = one.next() ^ number.wrapping_mul(STEP);
        Self(one.next())
    }

    /// Creates a stream that does not depend on the number of later draws from this one.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `end` - 1; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // The bias is below end / 2^64.
        let wide = u128::from(self.next()) * u128::from(end);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// Returns an index of a list of this length; 0 for an empty one.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// Returns true with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        unit < probability
    }

    /// Puts a list into a random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.index(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ten(mut random: Random) -> Vec<u64> {
        (0..10).map(|_| random.below(1_000)).collect()
    }

    #[test]
    fn a_seed_always_gives_the_same_numbers_and_each_stream_its_own() {
        assert_eq!(ten(Random::stream(7, 1)), ten(Random::stream(7, 1)));
        assert_ne!(ten(Random::stream(7, 1)), ten(Random::stream(7, 2)));
        assert_ne!(ten(Random::stream(7, 1)), ten(Random::stream(8, 1)));
    }
}
