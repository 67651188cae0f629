//! Answers in sections, written as text for a terminal or as one HTML file with pictures.

use std::fmt::Write as _;

pub(crate) mod charts;
mod table;

pub(crate) use table::{NONE, Table};

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

/// Returns sections as an HTML page that needs nothing from elsewhere.
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
