//! Tables as aligned text and as HTML.

use std::fmt::Write as _;

use super::escape;

pub(crate) const NONE: &str = "-";

#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with heads such as `KEY | SIZE`.
    pub(crate) fn new(heads: &str) -> Self {
        Self { heads: heads.split(" | ").map(str::to_owned).collect(), rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    pub(super) fn text(&self) -> String {
        let lines = || std::iter::once(&self.heads).chain(&self.rows);
        let width = |column: usize| {
            lines().map(|line| line[column].chars().count()).max().unwrap_or_default()
        };
        let is_number = |cell: &str| cell == NONE || cell.starts_with(|c: char| c.is_ascii_digit());
        let columns = (0..self.heads.len())
            .map(|column| (width(column), self.rows.iter().all(|row| is_number(&row[column]))));
        let columns: Vec<_> = columns.collect();
        let mut text = String::new();
        for line in lines() {
            let mut cells = String::new();
            for (cell, (width, is_number)) in line.iter().zip(&columns) {
                let _ = match is_number {
                    true => write!(cells, "{cell:>width$}  "),
                    false => write!(cells, "{cell:width$}  "),
                };
            }
            text = text + cells.trim_end() + "\n";
        }
        text
    }

    pub(super) fn html(&self) -> String {
        let line = |cells: &Vec<String>, tag: &str| {
            let cell = |cell: &String| format!("<{tag}>{}</{tag}>", escape(cell));
            format!("<tr>{}</tr>\n", cells.iter().map(cell).collect::<String>())
        };
        let rows: String = self.rows.iter().map(|row| line(row, "td")).collect();
        format!("<div class=\"wide\"><table>\n{}{rows}</table></div>\n", line(&self.heads, "th"))
    }
}
