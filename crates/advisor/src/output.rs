//! Answers in sections, written as text for a terminal or as one HTML file with pictures as SVG, without a script.

use std::fmt::Write as _;

pub(crate) const NONE: &str = "-";

pub(crate) const COLOURS: [&str; 5] = ["#2563c9", "#c2410c", "#15803d", "#9333ea", "#64748b"];

const BAR_HEIGHT: usize = 22;
const LABEL_WIDTH: usize = 300;
const BAR_WIDTH: f64 = 380.0;
const PLOT_SIZE: f64 = 320.0;

#[derive(Debug)]
pub(crate) struct Section {
    title: String,
    blocks: Vec<Block>,
}

#[derive(Debug)]
pub(crate) enum Block {
    Sentences(Vec<String>),
    Table(Table),
    Code(String),
    Picture(String),
}

impl Section {
    pub(crate) fn new(title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { title: title.into(), blocks }
    }

    pub(crate) fn of_sentences(title: impl Into<String>, sentences: Vec<String>) -> Option<Self> {
        (!sentences.is_empty()).then(|| Self::new(title, vec![Block::Sentences(sentences)]))
    }
}

pub(crate) fn text(sections: &[Section]) -> String {
    let mut text = String::new();
    for Section { title, blocks } in sections {
        if blocks.iter().all(|block| matches!(block, Block::Picture(_))) {
            continue;
        }
        if !title.is_empty() {
            let _ = writeln!(text, "\u{1b}[1m{title}\u{1b}[0m");
        }
        for block in blocks {
            match block {
                Block::Sentences(sentences) => {
                    for sentence in sentences {
                        let _ = writeln!(text, "  - {}", printable(sentence));
                    }
                }
                Block::Table(table) => text += &printable(&table.text()),
                Block::Code(code) => text = text + code + "\n",
                Block::Picture(_) => {}
            }
        }
        text.push('\n');
    }
    text
}

pub(crate) fn html(title: &str, sections: &[Section]) -> String {
    let title = escape(title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
    );
    for Section { title, blocks } in sections {
        if !title.is_empty() {
            let _ = writeln!(page, "<h2>{}</h2>", escape(title));
        }
        for block in blocks {
            let html = match block {
                Block::Sentences(sentences) => {
                    let item = |sentence: &String| format!("<li>{}</li>\n", escape(sentence));
                    format!("<ul>\n{}</ul>\n", sentences.iter().map(item).collect::<String>())
                }
                Block::Table(table) => table.html(),
                Block::Code(code) => format!("<pre>{}</pre>\n", escape(code)),
                Block::Picture(svg) => format!("<div class=\"wide\">\n{svg}</div>\n"),
            };
            page += &html;
        }
    }
    page + "</body>\n</html>\n"
}

#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heads: &str) -> Self {
        Self { heads: heads.split(" | ").map(str::to_owned).collect(), rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    fn text(&self) -> String {
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

    fn html(&self) -> String {
        let line = |cells: &Vec<String>, tag: &str| {
            let cell = |cell: &String| format!("<{tag}>{}</{tag}>", escape(cell));
            format!("<tr>{}</tr>\n", cells.iter().map(cell).collect::<String>())
        };
        let rows: String = self.rows.iter().map(|row| line(row, "td")).collect();
        format!("<div class=\"wide\"><table>\n{}{rows}</table></div>\n", line(&self.heads, "th"))
    }
}

const STYLE: &str = "\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
.wide,pre{overflow-x:auto}
table{border-collapse:collapse;font-size:14px}
th,td{padding:.2rem .6rem;text-align:left;white-space:nowrap;border-bottom:1px solid #8884}
svg{min-width:40rem;font-size:13px;fill:currentColor}
";

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns a text without control sequences for the terminal: keys are the data of others.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

pub(crate) type Bar = (String, f64, String);

pub(crate) fn bars(title: &str, bars: &[Bar]) -> String {
    let most = bars.iter().map(|(_, value, _)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = begin(title, 800, bars.len() * BAR_HEIGHT + 4);
    for (n, (label, value, text)) in bars.iter().enumerate() {
        let y = n * BAR_HEIGHT;
        let width = value / most * BAR_WIDTH;
        let text_at = width + 308.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LABEL_WIDTH}\" y=\"{}\" width=\"{width:.1}\" height=\"16\" fill=\"{}\"/>\
             <text x=\"{text_at:.1}\" y=\"{}\">{}</text>",
            LABEL_WIDTH - 8,
            y + 15,
            escape(label),
            y + 2,
            COLOURS[0],
            y + 15,
            escape(text),
        );
    }
    svg + "</svg>\n"
}

pub(crate) fn curves(title: &str, curves: &[(String, &[(f64, f64)])]) -> String {
    let mut svg = begin(title, 800, 330);
    svg += "<path d=\"M4 4V324H324\" fill=\"none\" stroke=\"currentColor\" opacity=\"0.5\"/>\n";
    for (n, ((name, points), colour)) in curves.iter().zip(COLOURS).enumerate() {
        let place = |(x, y): &(f64, f64)| {
            format!("{:.1},{:.1} ", 4.0 + x * PLOT_SIZE, 324.0 - y * PLOT_SIZE)
        };
        let points: String = points.iter().map(place).collect();
        let y = 20 + n * BAR_HEIGHT;
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <rect x=\"350\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"368\" y=\"{y}\">{}</text>",
            points.trim_end(),
            y - 11,
            escape(name),
        );
    }
    svg + "</svg>\n"
}

fn begin(title: &str, width: usize, height: usize) -> String {
    let title = escape(title);
    format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n")
}
