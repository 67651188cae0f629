//! Words and phrases in a text.

use std::fmt;

/// A text with the numbers of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadableText {
    pub(super) lines: Vec<TextLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextLine {
    pub(super) number: usize,
    pub(super) text: String,
}

/// A word in lower case.
pub(super) struct Word {
    pub(super) line: usize,
    pub(super) word: String,
}

impl ReadableText {
    pub(super) fn one_line(number: usize, text: impl Into<String>) -> Self {
        Self { lines: vec![TextLine { number, text: text.into() }] }
    }

    /// Returns the words of the text without those between backticks.
    pub(super) fn words(&self) -> Vec<Word> {
        let mut words = Vec::new();
        let mut is_code = false;
        for line in &self.lines {
            for (position, part) in line.text.split('`').enumerate() {
                is_code ^= position > 0;
                if !is_code {
                    words.extend(split(part).map(|word| Word { line: line.number, word }));
                }
            }
        }
        words
    }
}

/// Splits a text into words in lower case.
fn split(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Splits the name of an item into words: `DeadLetter`, `dead_letter` and `DEAD_LETTER` have two.
pub(super) fn spaced_name(name: &str) -> String {
    let mut spaced = String::new();
    let mut was_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && was_lower {
            spaced.push(' ');
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        spaced.push(if c == '_' { ' ' } else { c });
    }
    spaced
}

/// One or more words in a row.
pub(super) struct Phrase(Vec<String>);

impl fmt::Display for Phrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

impl Phrase {
    pub(super) fn new(text: &str) -> Self {
        Self(split(text).collect())
    }

    /// Returns true if the phrase stands at a position of a text.
    pub(super) fn is_at(&self, words: &[Word], position: usize) -> bool {
        let rest = words.get(position..).unwrap_or_default();
        rest.len() >= self.0.len() && rest.iter().zip(&self.0).all(|(word, own)| word.word == *own)
    }

    /// Returns true if the phrase stands in a text so that it covers a position.
    pub(super) fn covers(&self, words: &[Word], position: usize) -> bool {
        let first = (position + 1).saturating_sub(self.0.len());
        (first..=position).any(|start| self.is_at(words, start))
    }
}
