//! A sample across a container: the items whose ids end in certain characters.
//!
//! The store lists the items of a physical partition in its own order. Its first items are those of a few
//! keys, or those that were written first. The ends of ids do not depend on that order: numbers, times and
//! random ids have each character about equally often at their ends. The index has all ids, so the store
//! loads the items of the sample alone. So:
//!
//! 1. A first page tells the characters in which ids end. With fewer than two the ids cannot tell.
//! 2. Endings of a few characters are tried, until one finds enough items to say how many an ending of this
//!    length finds.
//! 3. As many endings as are needed for the sample are asked for in one query, and all that they find is
//!    read. Each key has the share in it that it has in the container.

use std::collections::BTreeSet;

use twox_hash::XxHash64;

/// Items that an ending must find to say how many others find.
pub(super) const ENOUGH_ITEMS: u64 = 5;

/// Lengths of endings, in the order in which they are tried.
pub(super) const LENGTHS: [u32; 3] = [4, 2, 1];

/// Endings of one query.
const MAX_ENDINGS: u64 = 64;

/// The characters in which ids end.
#[derive(Debug, Default)]
pub(super) struct Endings(BTreeSet<char>);

impl Endings {
    /// Sees an id.
    pub(super) fn see(&mut self, id: &str) {
        self.0.extend(id.chars().next_back());
    }

    /// Returns true when ids end in different characters.
    pub(super) fn tell(&self) -> bool {
        self.0.len() > 1
    }

    /// Returns how many endings of this length there are.
    pub(super) fn count(&self, length: u32) -> u64 {
        (self.0.len() as u64).saturating_pow(length)
    }

    /// Returns endings of this length, the same each time, at most all and as many as a query may have.
    pub(super) fn some(&self, length: u32, n: u64) -> Vec<String> {
        let n = n.clamp(1, MAX_ENDINGS).min(self.count(length));
        let letters: Vec<char> = self.0.iter().copied().collect();
        let mut endings = BTreeSet::new();
        let mut number = 0_u64;
        while (endings.len() as u64) < n {
            let mut hash = XxHash64::oneshot(0, &number.to_le_bytes());
            let mut ending = String::new();
            for _ in 0..length {
                let at = usize::try_from(hash % letters.len() as u64).unwrap_or_default();
                ending.push(letters[at]);
                hash /= letters.len() as u64;
            }
            endings.insert(ending);
            number += 1;
        }
        endings.into_iter().collect()
    }

    /// Returns the length and the number of the endings that find about `wanted` items, and not more, where one
    /// of this length finds `found`.
    pub(super) fn plan(&self, mut length: u32, mut found: u64, wanted: u64) -> (u32, u64) {
        let letters = self.0.len() as u64;
        // Fewer and shorter endings, where many would be needed.
        while length > 1 && wanted / found.max(1) > MAX_ENDINGS.min(letters) {
            length -= 1;
            found *= letters;
        }
        (length, (wanted / found.max(1)).clamp(1, self.count(length).min(MAX_ENDINGS)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn endings(letters: &str) -> Endings {
        let mut endings = Endings::default();
        letters.chars().for_each(|letter| endings.see(&format!("id-{letter}")));
        endings
    }

    proptest! {
        /// Of items with random ids, the plan finds about as many as are wanted.
        #[test]
        fn a_plan_finds_about_as_many_as_are_wanted(items in 100..100_000_u64, wanted in 10..2_000_u64) {
            let hex = endings("0123456789abcdef");
            let of = |length: u32| items / 16_u64.pow(length);
            let length = LENGTHS.into_iter().find(|length| of(*length) >= ENOUGH_ITEMS);
            let (length, n) = hex.plan(length.unwrap_or(1), of(length.unwrap_or(1)), wanted);
            let finds = n * items / 16_u64.pow(length);
            prop_assert!(finds <= (wanted + wanted / 4).max(items / 16) + 1, "{length} {n}: {finds}");
            prop_assert!(4 * finds >= wanted.min(items / 2), "{length} {n}: {finds}");
            let some = hex.some(length, n);
            prop_assert_eq!(some.len() as u64, n);
            prop_assert!(some.iter().all(|ending| ending.len() == length as usize));
        }
    }

    #[test]
    fn ids_with_one_ending_tell_nothing() {
        assert!(!endings("x").tell());
        assert!(!endings("").tell());
        assert_eq!(endings("ab").some(1, 9), ["a", "b"]);
    }
}
