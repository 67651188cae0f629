//! A table of texts, and its three looks.

use std::fmt::Write as _;

/// Heads and rows. The first two columns are names, the others are numbers.
#[derive(Debug)]
pub(super) struct Grid {
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

const NAMES: usize = 2;
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

impl Grid {
    /// Aligned columns, the heads in bold.
    pub(super) fn text(&self) -> String {
        let lines = || std::iter::once(&self.heads).chain(&self.rows);
        let width = |column: usize| {
            let cells = lines().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heads.len()).map(width).collect();
        let mut text = String::new();
        for (n, line) in lines().enumerate() {
            let mut cells = String::new();
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let _ = match column {
                    0..NAMES => write!(cells, "{cell:width$}  "),
                    _ => write!(cells, "{cell:>width$}  "),
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

    /// A table of Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut text = format!("| {} |\n|", self.heads.join(" | "));
        for column in 0..self.heads.len() {
            text.push_str(if column < NAMES { " --- |" } else { " ---: |" });
        }
        for row in &self.rows {
            let _ = write!(text, "\n| {} |", row.join(" | "));
        }
        text.push('\n');
        text
    }

    /// A table of HTML.
    pub(super) fn html(&self) -> String {
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
}

/// A text within HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let texts = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        Grid {
            heads: texts(["REQUEST", "MODEL", "RU"]),
            rows: vec![texts(["C1", "V1", "5.71"]), texts(["<Q6>", "V1", "2,063.54"])],
        }
    }

    #[test]
    fn columns_are_aligned() {
        let text = grid().text().replace(BOLD, "").replace(PLAIN, "");
        assert_eq!(
            text,
            "REQUEST  MODEL        RU\n\
             C1       V1         5.71\n\
             <Q6>     V1     2,063.54\n"
        );
    }

    #[test]
    fn markdown_and_html_have_the_same_cells() {
        assert_eq!(
            grid().markdown(),
            "| REQUEST | MODEL | RU |\n| --- | --- | ---: |\n| C1 | V1 | 5.71 |\n| <Q6> | V1 | 2,063.54 |\n"
        );
        assert!(grid().html().contains("<tr><td>&lt;Q6&gt;</td><td>V1</td><td>2,063.54</td></tr>"));
    }
}
