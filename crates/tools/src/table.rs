//! Tables of texts as Markdown, for a terminal, and as HTML.
//!
//! `comfy-table` and `tabled` draw tables of Markdown too, but without the colons that align a
//! column of numbers.

use std::fmt::{self, Write as _};

use crate::figures::NONE;

const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// A table. Columns of numbers are aligned to the right. `Display` writes Markdown.
#[derive(Debug)]
pub struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new<T: Into<String>>(heads: impl IntoIterator<Item = T>) -> Self {
        Self { heads: heads.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row with a cell for each head.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns aligned columns with bold heads, for a terminal.
    pub fn text(&self) -> String {
        let lines = || std::iter::once(&self.heads).chain(&self.rows);
        let widths: Vec<usize> = (0..self.heads.len())
            .map(|column| {
                let cells = lines().filter_map(|line| line.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let numbers = self.number_columns();
        let mut text = String::new();
        for (n, line) in lines().enumerate() {
            let mut cells = String::new();
            for ((cell, width), is_number) in line.iter().zip(&widths).zip(&numbers) {
                let _ = if *is_number {
                    write!(cells, "{cell:>width$}  ")
                } else {
                    write!(cells, "{cell:width$}  ")
                };
            }
            let cells = cells.trim_end();
            let _ = match n {
                0 => writeln!(text, "{BOLD}{cells}{PLAIN}"),
                _ => writeln!(text, "{cells}"),
            };
        }
        text
    }

    /// Returns an HTML table.
    pub fn html(&self) -> String {
        let line = |cells: &[String], tag: &str| {
            let cell = |cell: &String| format!("<{tag}>{}</{tag}>", escape(cell));
            let cells = cells.iter().map(cell).collect::<Vec<_>>().concat();
            format!("<tr>{cells}</tr>\n")
        };
        let rows: String = self.rows.iter().map(|row| line(row, "td")).collect();
        format!(
            "<table>\n<thead>{}</thead>\n<tbody>\n{rows}</tbody>\n</table>\n",
            line(&self.heads, "th")
        )
    }

    /// Returns, for each column, true if all its cells are numbers.
    fn number_columns(&self) -> Vec<bool> {
        let is_number = |cell: &str| cell == NONE || cell.starts_with(|c: char| c.is_ascii_digit());
        let column =
            |n: usize| self.rows.iter().all(|row| row.get(n).is_some_and(|cell| is_number(cell)));
        (0..self.heads.len()).map(column).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules =
            self.number_columns().into_iter().map(|number| if number { "---:" } else { "---" });
        writeln!(f, "| {} |", self.heads.join(" | "))?;
        writeln!(f, "| {} |", rules.collect::<Vec<_>>().join(" | "))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}

/// Escapes a text for HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["what", "model", "RU"]);
        table.row(["C1", "V1", "5.71"].map(str::to_owned));
        table.row(["<Q6>", "V1", "2,063.54"].map(str::to_owned));
        table
    }

    #[test]
    fn a_table_is_markdown_with_its_numbers_to_the_right() {
        let mut table = table();
        let text = "| what | model | RU |\n| --- | --- | ---: |\n\
                    | C1 | V1 | 5.71 |\n| <Q6> | V1 | 2,063.54 |\n";
        assert_eq!(table.to_string(), text);
        table.row(["Q7", "V1", NONE].map(str::to_owned));
        assert!(table.to_string().contains("| --- | --- | ---: |"), "{table}");
        table.row(["Q8", "V1", "none"].map(str::to_owned));
        assert!(table.to_string().contains("| --- | --- | --- |"), "{table}");
    }

    #[test]
    fn columns_are_aligned_on_a_terminal() {
        let text = table().text().replace(BOLD, "").replace(PLAIN, "");
        assert_eq!(text, "what  model        RU\nC1    V1         5.71\n<Q6>  V1     2,063.54\n");
    }

    #[test]
    fn html_has_the_same_cells() {
        let cells = "<tr><td>&lt;Q6&gt;</td><td>V1</td><td>2,063.54</td></tr>";
        assert!(table().html().contains(cells));
    }
}
