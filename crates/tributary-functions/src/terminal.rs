//! The output of an app's commands: aligned tables for people, JSON lines for programs.

use std::io::{self, IsTerminal};

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    Plain,
    Colours,
    Json,
}

impl OutputFormat {
    pub(crate) fn for_stdout(json: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match (json, io::stdout().is_terminal()) {
            (true, _) => Self::Json,
            (false, true) if !no_color => Self::Colours,
            (false, _) => Self::Plain,
        }
    }
}

pub(crate) const GREEN: &str = "\u{1b}[32m";
pub(crate) const YELLOW: &str = "\u{1b}[33m";
pub(crate) const RED: &str = "\u{1b}[31m";
const BOLD: &str = "\u{1b}[1m";
const END: &str = "\u{1b}[0m";

/// Control characters of the cells, which a terminal would obey, are replaced: a cell may be the id of a broken item.
pub(crate) fn table(
    headings: &[&str],
    rows: impl Iterator<Item = (&'static str, Vec<String>)>,
    has_colours: bool,
) -> String {
    let headings: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    let printable = |cells: Vec<String>| cells.iter().map(|cell| printable(cell)).collect();
    let rows: Vec<(_, Vec<String>)> =
        rows.map(|(colour, cells)| (colour, printable(cells))).collect();
    let width = |(column, heading): (usize, &String)| {
        let cells = rows.iter().filter_map(|(_, cells)| cells.get(column));
        cells.chain([heading]).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = headings.iter().enumerate().map(width).collect();
    let code = |code: &'static str| if has_colours { code } else { "" };
    let mut text = line(&headings, &widths, code(BOLD));
    for (colour, cells) in &rows {
        text.push_str(&line(cells, &widths, code(colour)));
    }
    text
}

fn line(cells: &[String], widths: &[usize], colour: &str) -> String {
    let mut cells: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    if let Some(first) = cells.first_mut().filter(|_| !colour.is_empty()) {
        *first = format!("{colour}{first}{END}");
    }
    format!("{}\n", cells.join("  ").trim_end())
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

pub(crate) fn word(status: &impl Serialize) -> String {
    serde_json::to_string(status).unwrap_or_default().trim_matches('"').to_owned()
}

pub(crate) fn json_lines(items: &[impl Serialize]) -> String {
    let lines = items.iter().filter_map(|item| serde_json::to_string(item).ok());
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> impl Iterator<Item = (&'static str, Vec<String>)> {
        [
            (GREEN, vec!["short".into(), "no\u{1b}[31m".into()]),
            (RED, vec!["longer than the heading".into(), "z".into()]),
            ("", vec!["x".into(), "y".into(), "a cell without a column".into()]),
        ]
        .into_iter()
    }

    #[test]
    fn a_table_is_aligned_and_harmless() {
        assert_eq!(
            table(&["NAME", "FOUND"], rows(), false),
            "NAME                     FOUND\n\
             short                    no\u{fffd}[31m\n\
             longer than the heading  z\n\
             x                        y\n"
        );
    }
}
