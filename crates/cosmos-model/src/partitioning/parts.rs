//! Hybrid keys: several parts in one string. The guide joins parts with `_` as they are, so `a_b` with `c` and `a` with
//! `b_c` share a key. Here each list of parts has a key of its own, and [`split`] returns the list:
//!
//! 1. Within a part `~` is written `~0` and `_` is written `~1`. So each `_` of a key separates two
//!    parts, and each `~` is followed by `0` or `1`.
//! 2. The key of no part at all is `~`, which is the notation of no part.

/// Joins `parts` into one key with `_` between them: `["reuters", "2026-11"]` is `reuters_2026-11`.
///
/// Any string may be a part. Two different lists never have the same key.
pub fn join<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return NO_PARTS.to_owned() };
    let mut key = String::new();
    push_escaped(&mut key, first);
    for part in parts {
        key.push(SEPARATOR);
        push_escaped(&mut key, part);
    }
    key
}

/// Returns the parts from which [`join`] makes `key`, or `None` when it makes no such key.
pub fn split(key: &str) -> Option<Vec<String>> {
    if key == NO_PARTS {
        return Some(Vec::new());
    }
    key.split(SEPARATOR).map(unescaped).collect()
}

const SEPARATOR: char = '_';
const ESCAPE: char = '~';
const NO_PARTS: &str = "~";

fn push_escaped(key: &mut String, part: &str) {
    for character in part.chars() {
        match character {
            ESCAPE => key.push_str("~0"),
            SEPARATOR => key.push_str("~1"),
            other => key.push(other),
        }
    }
}

fn unescaped(written: &str) -> Option<String> {
    let mut part = String::with_capacity(written.len());
    let mut characters = written.chars();
    while let Some(character) = characters.next() {
        part.push(match character {
            ESCAPE => match characters.next()? {
                '0' => ESCAPE,
                '1' => SEPARATOR,
                _ => return None,
            },
            other => other,
        });
    }
    Some(part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Ordinary parts read as in the guide. Its join gives all lists of `a`, `b` and `c` here one key.
    #[test]
    fn each_list_of_parts_has_its_key() {
        for (parts, key) in [
            (&["reuters", "2026-11"][..], "reuters_2026-11"),
            (&["a_b", "c"], "a~1b_c"),
            (&["a", "b_c"], "a_b~1c"),
            (&["a", "b", "c"], "a_b_c"),
            (&[], "~"),
            (&[""], ""),
            (&["", ""], "_"),
        ] {
            assert_eq!(join(parts.iter().copied()), key);
        }
    }

    /// Returns strings with many separators, escapes and characters after them.
    fn any_part() -> impl Strategy<Value = String> {
        prop_oneof!["[_~01a]{0,5}", any::<String>()]
    }

    proptest! {
        /// Parts that come back have a key of their own, so this is injectivity, too.
        #[test]
        fn the_parts_come_back(parts in prop::collection::vec(any_part(), 0..5)) {
            let key = join(parts.iter().map(String::as_str));
            prop_assert_eq!(split(&key), Some(parts));
        }

        #[test]
        fn a_split_key_is_joined_to_the_same_key(key in any_part()) {
            if let Some(parts) = split(&key) {
                prop_assert_eq!(join(parts.iter().map(String::as_str)), key);
            }
        }
    }
}
