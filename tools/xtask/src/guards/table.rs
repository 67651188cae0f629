//! The table of guards in the documents.

use anyhow::{Context, ensure};

/// The page with the table.
pub(super) const GUARDS_PAGE: &str = "docs/guards.md";

/// The guard's row of the table.
pub(super) struct GuardRow {
    pub(super) name: String,
    /// The names of the tests that fail without the guard, as `cargo test` takes them.
    pub(super) tests: Vec<String>,
}

/// Reads the rows of a page's tables: the name, the effect of the guard's absence, and the tests.
pub(super) fn rows(page: &str) -> anyhow::Result<Vec<GuardRow>> {
    let mut rows = Vec::new();
    let (_, tables) = page.split_once("\n| guard |").context("there is no table of guards")?;
    for line in tables.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        ensure!(cells.len() == 3, "a row of {GUARDS_PAGE} has not three cells: {line}");
        let tests: Option<Vec<_>> = cells[2]
            .split(", ")
            .map(|test| Some(test.strip_prefix('`')?.strip_suffix('`')?.to_owned()))
            .collect();
        // The others are heads of tables.
        rows.extend(tests.map(|tests| GuardRow { name: cells[0].to_owned(), tests }));
    }
    Ok(rows)
}
