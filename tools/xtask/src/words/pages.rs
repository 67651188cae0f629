//! The texts of a page of the documents.

use std::collections::BTreeSet;

use super::phrases::{ReadableText, TextLine};

/// Returns the paragraphs of a page without its blocks of code and the targets of its links.
pub(super) fn paragraphs(page: &str) -> Vec<ReadableText> {
    let mut paragraphs = Vec::new();
    let mut lines = Vec::new();
    let mut is_code = false;
    for (at, line) in page.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_fence || is_code || line.trim().is_empty() {
            if !lines.is_empty() {
                paragraphs.push(ReadableText { lines: std::mem::take(&mut lines) });
            }
        } else {
            lines.push(TextLine { number: at + 1, text: without_targets(line) });
        }
    }
    if !lines.is_empty() {
        paragraphs.push(ReadableText { lines });
    }
    paragraphs
}

fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.split_once(')').map_or("", |(_, rest)| rest);
        format!("{text}] {rest}")
    })
}

/// Returns the words that the tables of the glossary define: those of the first cell of each row.
pub(super) fn defined_words(glossary: &str) -> BTreeSet<String> {
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    rows.flat_map(|(words, _)| words.split(", ").map(|word| word.trim().to_lowercase())).collect()
}
