//! The ends of ids, by which items are drawn.
//!
//! The store lists items in its own order: the first ones are those of a few keys. The ends of ids do not depend on
//! that order: numbers, times and random ids have each character about equally often at their ends. The index has
//! all ids, so the store loads the items of the sample alone.
//!
//! 1. Some items tell the characters in which ids end. At least two are needed.
//! 2. An ending of a few characters is tried, then shorter or longer ones, until one finds enough items to
//!    estimate the number for this length, and not more than are wanted: those would be the first ones.
//! 3. One query asks for as many endings as the sample needs, and all found items are read. Each key has the
//!    share in the sample that it has in the container.

use std::collections::BTreeSet;

use twox_hash::XxHash64;

pub(super) const MIN_ENDING_ITEMS: u64 = 5;

const FIRST_ENDING_LENGTH: u32 = 4;
const MAX_ENDING_LENGTH: u32 = 12;

const MAX_ENDINGS: u64 = 64;

#[derive(Debug, Default)]
pub(super) struct IdEndings(BTreeSet<char>);

#[derive(Debug)]
pub(super) struct EndingSearch {
    pub(super) length: u32,
    few: Option<(u32, u64)>,
    was_lengthened: bool,
}

impl EndingSearch {
    pub(super) fn new() -> Self {
        Self { length: FIRST_ENDING_LENGTH, few: None, was_lengthened: false }
    }

    /// Returns the length and the number of endings after one has found `found` items, or `None` where another
    /// length is to be tried. Each attempt changes the length in one
    /// direction, so there are few attempts.
    pub(super) fn next(
        &mut self,
        endings: &IdEndings,
        found: u64,
        wanted: u64,
    ) -> Option<(u32, u64)> {
        let mut of = (self.length, found);
        if found >= wanted && self.length < MAX_ENDING_LENGTH {
            let Some(few) = self.few else {
                self.length += 1;
                self.was_lengthened = true;
                return None;
            };
            // One character more finds too few, so several longer endings are taken.
            of = few;
        } else if found < MIN_ENDING_ITEMS && self.length > 1 && !self.was_lengthened {
            self.few = Some(of);
            self.length -= 1;
            return None;
        }
        Some(endings.plan(of.0, of.1, wanted))
    }
}

impl IdEndings {
    pub(super) fn see(&mut self, id: &str) {
        self.0.extend(id.chars().next_back());
    }

    pub(super) fn tell(&self) -> bool {
        self.0.len() > 1
    }

    pub(super) fn count(&self, length: u32) -> u64 {
        (self.0.len() as u64).saturating_pow(length)
    }

    /// Returns `n` endings of this length, the same for each seed; at most all, and as many as a query may have.
    pub(super) fn some(&self, length: u32, n: u64, seed: u64) -> Vec<String> {
        let n = n.clamp(1, MAX_ENDINGS).min(self.count(length));
        let letters: Vec<char> = self.0.iter().copied().collect();
        let mut endings = BTreeSet::new();
        let mut number = 0_u64;
        while (endings.len() as u64) < n {
            let mut hash = XxHash64::oneshot(seed, &number.to_le_bytes());
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

    /// Returns the length and the number of the endings that find about `wanted` items, and not more, if one
    /// of this length finds `found`.
    fn plan(&self, mut length: u32, mut found: u64, wanted: u64) -> (u32, u64) {
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

    fn endings(letters: &str) -> IdEndings {
        let mut endings = IdEndings::default();
        letters.chars().for_each(|letter| endings.see(&format!("id-{letter}")));
        endings
    }

    proptest! {
        /// For any number of items with random ids, the search ends with about the wanted number.
        #[test]
        fn a_search_finds_about_as_many_as_are_wanted(items in 100..3_000_000_000_u64, wanted in 10..5_000_u64) {
            let hex = endings("0123456789abcdef");
            let of = |length: u32| items / 16_u64.pow(length);
            let mut search = EndingSearch::new();
            let mut tries = 1;
            // No ending reads more than the wanted items.
            let mut next = search.next(&hex, of(4).min(wanted), wanted);
            while next.is_none() {
                tries += 1;
                next = search.next(&hex, of(search.length).min(wanted), wanted);
            }
            prop_assert!(tries <= 9, "{tries}");
            let Some((length, n)) = next else { unreachable!() };
            let finds = n * items / 16_u64.pow(length);
            // A few items beyond the wanted number are not read: too few to matter.
            prop_assert!(finds <= 2 * wanted.max(MIN_ENDING_ITEMS), "{length} {n}: {finds} for {wanted}");
            prop_assert!(8 * finds >= wanted.min(items / 2), "{length} {n}: {finds} for {wanted}");
            let some = hex.some(length, n, 0);
            prop_assert_eq!(some.len() as u64, n);
            prop_assert!(some.iter().all(|ending| ending.len() == length as usize));
        }
    }

    #[test]
    fn ids_with_one_ending_tell_nothing() {
        assert!(!endings("x").tell());
        assert!(!endings("").tell());
        assert_eq!(endings("ab").some(1, 9, 0), ["a", "b"]);
    }
}
