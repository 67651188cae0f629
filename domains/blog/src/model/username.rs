//! Usernames: their characters, and the equality of two.

use std::fmt;

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{DefaultIgnorableCodePoint, ExtendedPictographic, GeneralCategory},
};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use tributary_functions::values::{self, Invalid, check_length};

/// A username: 1 to 64 characters after trimming, none of them invisible.
///
/// The rule is for names from callers ([`Username::parse`]). A stored name is read as it is: it was
/// accepted under the rule of its time, and its owner keeps it until the next rename.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Username(String);

values::text_schema!(Username, "examples": ["Ann"]);

impl Username {
    /// The prefix of the logical partitions of reservations.
    pub const RESERVATION_PREFIX: &'static str = "username:";

    #[expect(clippy::needless_pass_by_value, reason = "as all parsers of checked text")]
    pub fn parse(text: String) -> Result<Self, Invalid> {
        let name = text.trim();
        check_length(name, 1, 64)?;
        if has_invisible_characters(name) {
            return Err("must not contain control characters or invisible characters: write it \
                        anew rather than copy it from elsewhere"
                .into());
        }
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key by which two names are the same: the Unicode lower case of the NFC form.
    pub fn key(&self) -> String {
        self.as_str().nfc().collect::<String>().to_lowercase()
    }

    /// Returns the logical partition of the reservation of the name.
    pub fn reservation(&self) -> String {
        format!("{}{}", Self::RESERVATION_PREFIX, self.key())
    }
}

impl fmt::Display for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Joins emoji into one, such as a family (UTS #51, "ZWJ element").
const ZERO_WIDTH_JOINER: char = '\u{200d}';
/// Shows the emoji before it as text (UTS #51, "presentation selector").
const TEXT_STYLE: char = '\u{fe0e}';
/// Shows the emoji before it as a picture.
const EMOJI_STYLE: char = '\u{fe0f}';
/// Puts a digit, `#` or `*` on a key, after [`EMOJI_STYLE`]: `1️⃣`.
const KEYCAP: char = '\u{20e3}';

/// Returns true if the name has invisible characters, by which two names could differ and look the
/// same. Emoji need such characters, and may have them.
fn has_invisible_characters(name: &str) -> bool {
    let mut characters = name.chars().peekable();
    let mut before_last = None;
    let mut last = None;
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let belongs_to_an_emoji = match character {
            ZERO_WIDTH_JOINER => ends_an_emoji(before_last, last) && next.is_some_and(is_emoji),
            TEXT_STYLE | EMOJI_STYLE => {
                last.is_some_and(is_emoji) || last.is_some_and(is_key) && next == Some(KEYCAP)
            }
            _ => false,
        };
        if is_invisible(character) && !belongs_to_an_emoji {
            return true;
        }
        (before_last, last) = (last, Some(character));
    }
    false
}

fn ends_an_emoji(before_last: Option<char>, last: Option<char>) -> bool {
    match last {
        Some(TEXT_STYLE | EMOJI_STYLE) => before_last.is_some_and(is_emoji),
        last => last.is_some_and(is_emoji),
    }
}

fn is_invisible(character: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
        || matches!(
            CodePointMapData::<GeneralCategory>::new().get(character),
            Control | Format | LineSeparator | ParagraphSeparator
        )
}

/// Returns true for an emoji, and for a skin tone: it modifies the emoji before it, and joins to the
/// next one like an emoji.
fn is_emoji(character: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(character)
        || ('\u{1f3fb}'..='\u{1f3ff}').contains(&character)
}

fn is_key(character: char) -> bool {
    character.is_ascii_digit() || matches!(character, '#' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Username {
        Username::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn invisible_characters_are_refused() {
        let all = "\u{ad}\u{34f}\u{61c}\u{115f}\u{17b4}\u{180b}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{202e}\u{2060}\u{2066}\
            \u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{1d173}\u{e0001}\u{e0061}\u{e0100}\u{7f}\u{9f}\u{2028}\u{2029}";
        for invisible in all.chars() {
            for text in [format!("Bo{invisible}b"), format!("🙂{invisible}{invisible}b")] {
                let refused = Username::parse(text.clone()).unwrap_err();
                assert!(refused.0.contains("invisible"), "{text:?}");
            }
        }
    }

    #[test]
    fn invisible_characters_are_accepted_inside_emoji_only() {
        for text in [
            "👩\u{200d}💻",
            "👩🏽\u{200d}💻",
            "🏳\u{fe0f}\u{200d}🌈",
            "❤\u{fe0f} Ann",
            "☎\u{fe0e}",
            "1\u{fe0f}\u{20e3}",
            "👨\u{200d}👩\u{200d}👧",
            "🇩🇪",
        ] {
            assert_eq!(name(text).as_str(), text);
        }
        for text in [
            "a\u{200d}💻",
            "👩\u{200d}a",
            "👩\u{200d}",
            "👩\u{200d}\u{200d}💻",
            "a\u{fe0f}",
            "1\u{fe0f}",
            "❤\u{fe0f}\u{fe0f}",
            "1\u{fe0f}\u{200d}💻",
            "👩\u{ad}",
            "\u{200d}👩",
            "👩\u{fe0f}\u{fe0e}\u{200d}💻",
        ] {
            assert!(Username::parse(text.to_owned()).is_err(), "{text:?}");
        }
    }
}
