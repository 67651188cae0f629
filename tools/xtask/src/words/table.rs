//! The table of words: `words.toml`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use super::phrases::Phrase;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WordTable {
    /// The areas whose findings fail the check.
    pub(super) held: Vec<String>,
    /// Words that the glossary must define.
    pub(super) core: Vec<String>,
    pub(super) avoided: Vec<AvoidedWords>,
    #[serde(default)]
    pub(super) allowed: Vec<AllowedWord>,
}

/// Words and phrases with the same replacement.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AvoidedWords {
    #[serde(deserialize_with = "phrases")]
    pub(super) words: Vec<Phrase>,
    pub(super) instead: String,
    pub(super) reason: String,
    /// Phrases that contain one of the words in another meaning.
    #[serde(default, deserialize_with = "phrases")]
    pub(super) except: Vec<Phrase>,
}

/// A finding that stays.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AllowedWord {
    /// The avoided word, or the name of the type.
    pub(super) word: String,
    /// The only file that may have it; without one, all may.
    file: Option<PathBuf>,
    pub(super) reason: String,
}

impl WordTable {
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        Ok(toml::from_str(text)?)
    }
}

impl AllowedWord {
    pub(super) fn covers(&self, word: &str, file: &Path) -> bool {
        self.word == word && self.file.as_ref().is_none_or(|own| own == file)
    }
}

fn phrases<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Phrase>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    Ok(texts.iter().map(|text| Phrase::new(text)).collect())
}
