//! The findings of the check, by area.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use super::{
    pages,
    phrases::ReadableText,
    rust_texts::{NamedItem, RustTexts},
    table::WordTable,
};

/// The share of doc comments in an area that may open with a noun clause.
const MAX_CLAUSE_PERCENT: usize = 2;
/// The number of types in the workspace that may have the same name.
const MAX_TYPES_OF_A_NAME: usize = 2;
const MAX_PAGE_WORDS: usize = 4000;

/// The first words of a noun clause.
const CLAUSE_OPENINGS: [&str; 8] =
    ["How", "What", "When", "Where", "Whether", "Which", "Who", "Why"];

#[derive(Default)]
pub(super) struct Findings {
    areas: BTreeMap<String, AreaFindings>,
    types: Vec<TypeSite>,
}

#[derive(Default)]
struct AreaFindings {
    n_doc_comments: usize,
    clauses: Vec<WordFinding>,
    others: Vec<WordFinding>,
}

struct WordFinding {
    file: PathBuf,
    line: usize,
    /// The word, or the name of the type, that an allowance names.
    word: String,
    message: String,
}

/// The definition of a type.
struct TypeSite {
    area: String,
    file: PathBuf,
    line: usize,
    name: String,
}

impl WordFinding {
    fn text(&self) -> String {
        format!("{}:{}: {}", self.file.display(), self.line, self.message)
    }

    fn is_allowed(&self, table: &WordTable) -> bool {
        table.allowed.iter().any(|allowed| allowed.covers(&self.word, &self.file))
    }
}

impl Findings {
    pub(super) fn add_rust(
        &mut self,
        area: &str,
        file: &Path,
        texts: &RustTexts,
        table: &WordTable,
    ) {
        let found = self.areas.entry(area.to_owned()).or_default();
        found.n_doc_comments += texts.docs.len();
        found.clauses.extend(texts.docs.iter().filter_map(|doc| clause(doc, file)));
        for text in texts.docs.iter().chain(&texts.others) {
            found.others.extend(avoided_words(text, file, table));
        }
        if super::is_source(file) {
            let site = |named: &NamedItem| TypeSite {
                area: area.to_owned(),
                file: file.to_owned(),
                line: named.line,
                name: named.name.clone(),
            };
            self.types.extend(texts.types.iter().map(site));
        }
    }

    pub(super) fn add_page(&mut self, area: &str, file: &Path, page: &str, table: &WordTable) {
        let found = self.areas.entry(area.to_owned()).or_default();
        for text in pages::paragraphs(page) {
            found.others.extend(avoided_words(&text, file, table));
        }
        let n_words = page.split_whitespace().count();
        if n_words > MAX_PAGE_WORDS {
            let message = format!("{n_words} words; a page has at most {MAX_PAGE_WORDS}");
            found.others.push(WordFinding {
                file: file.into(),
                line: 1,
                word: "page".into(),
                message,
            });
        }
    }

    pub(super) fn add_missing_core_words(
        &mut self,
        area: &str,
        file: &Path,
        glossary: &str,
        table: &WordTable,
    ) {
        let defined = pages::defined_words(glossary);
        let found = self.areas.entry(area.to_owned()).or_default();
        for word in table.core.iter().filter(|word| !defined.contains(*word)) {
            let message = format!("the glossary does not define {word:?}");
            found.others.push(WordFinding {
                file: file.into(),
                line: 1,
                word: word.clone(),
                message,
            });
        }
    }

    /// Adds a finding for each type whose name too many types have.
    pub(super) fn add_repeated_type_names(&mut self) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for site in &self.types {
            *counts.entry(&site.name).or_default() += 1;
        }
        for TypeSite { area, file, line, name } in &self.types {
            let n_types = counts[name.as_str()];
            if n_types > MAX_TYPES_OF_A_NAME {
                let message = format!(
                    "{n_types} types are named `{name}`; say in two words what this one holds"
                );
                let finding =
                    WordFinding { file: file.clone(), line: *line, word: name.clone(), message };
                self.areas.entry(area.clone()).or_default().others.push(finding);
            }
        }
    }

    pub(super) fn has_area(&self, name: &str) -> bool {
        self.areas.contains_key(name)
    }

    pub(super) fn area_names(&self) -> String {
        self.areas.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// Returns the faults of the areas that are held, and those of the table itself.
    pub(super) fn faults(&self, table: &WordTable) -> Vec<String> {
        let mut faults = Vec::new();
        for name in &table.held {
            let Some(area) = self.areas.get(name) else {
                faults.push(format!("held: there is no area {name:?}"));
                continue;
            };
            faults.extend(area.remaining(table).map(WordFinding::text));
            let clauses: Vec<String> =
                area.remaining_clauses(table).map(WordFinding::text).collect();
            if clauses.len() * 100 > area.n_doc_comments * MAX_CLAUSE_PERCENT {
                faults.push(format!(
                    "{name}: {} of {} doc comments open with a noun clause, more than {MAX_CLAUSE_PERCENT} %:",
                    clauses.len(),
                    area.n_doc_comments
                ));
                faults.extend(clauses);
            }
        }
        let all = || self.areas.values().flat_map(|area| area.others.iter().chain(&area.clauses));
        for allowed in &table.allowed {
            if !all().any(|finding| allowed.covers(&finding.word, &finding.file)) {
                faults.push(format!(
                    "allowed: nothing needs {:?} ({})",
                    allowed.word, allowed.reason
                ));
            }
        }
        faults
    }

    /// Returns a line for each finding.
    pub(super) fn listing(&self, is_chosen: impl Fn(&str) -> bool) -> Vec<String> {
        let areas = self.areas.iter().filter(|(name, _)| is_chosen(name)).map(|(_, area)| area);
        areas
            .flat_map(|area| area.others.iter().chain(&area.clauses).map(WordFinding::text))
            .collect()
    }

    /// Returns a table with a line for each area.
    pub(super) fn summary(&self, table: &WordTable, is_chosen: impl Fn(&str) -> bool) -> String {
        let mut text = format!(
            "{:32} {:>4} {:>12} {:>12} {:>6}\n",
            "area", "held", "doc comments", "noun clauses", "others"
        );
        for (name, area) in self.areas.iter().filter(|(name, _)| is_chosen(name)) {
            let held = if table.held.contains(name) { "yes" } else { "no" };
            let n_docs = area.n_doc_comments;
            let n_clauses = area.remaining_clauses(table).count();
            let n_others = area.remaining(table).count();
            // Writing to a string cannot fail.
            let _ =
                writeln!(text, "{name:32} {held:>4} {n_docs:>12} {n_clauses:>12} {n_others:>6}");
        }
        text
    }
}

impl AreaFindings {
    fn remaining<'a>(&'a self, table: &'a WordTable) -> impl Iterator<Item = &'a WordFinding> {
        self.others.iter().filter(|finding| !finding.is_allowed(table))
    }

    fn remaining_clauses<'a>(
        &'a self,
        table: &'a WordTable,
    ) -> impl Iterator<Item = &'a WordFinding> {
        self.clauses.iter().filter(|finding| !finding.is_allowed(table))
    }
}

/// Returns a finding for a doc comment that opens with a noun clause.
fn clause(doc: &ReadableText, file: &Path) -> Option<WordFinding> {
    let line = doc.lines.first()?;
    let opening = line.text.split(|c: char| !c.is_alphanumeric()).next()?;
    CLAUSE_OPENINGS.contains(&opening).then(|| WordFinding {
        file: file.to_owned(),
        line: line.number,
        word: opening.to_owned(),
        message: format!("a noun clause opens the doc comment: {}", line.text),
    })
}

fn avoided_words(text: &ReadableText, file: &Path, table: &WordTable) -> Vec<WordFinding> {
    let words = text.words();
    let mut found = Vec::new();
    for position in 0..words.len() {
        for avoided in &table.avoided {
            let Some(phrase) = avoided.words.iter().find(|one| one.is_at(&words, position)) else {
                continue;
            };
            if avoided.except.iter().any(|except| except.covers(&words, position)) {
                continue;
            }
            found.push(WordFinding {
                file: file.to_owned(),
                line: words[position].line,
                word: phrase.to_string(),
                message: format!("\"{phrase}\": write {}: {}", avoided.instead, avoided.reason),
            });
        }
    }
    found
}
