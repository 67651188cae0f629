//! Values as JSON and as Bicep: a short value stands in one line, and properties keep their order.

use serde_json::Value;

/// The longest value in one line, in characters.
const MAX_LINE_CHARACTERS: usize = 76;

/// A value with its layout.
#[derive(Debug)]
pub(super) enum LayoutTree {
    Text(String),
    /// A number or a boolean.
    Word(String),
    List(Vec<LayoutTree>),
    Object(Vec<(&'static str, LayoutTree)>),
}

/// The language of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutNotation {
    Json,
    Bicep,
}

impl LayoutTree {
    /// Returns the text of this value, within `depth` steps of indentation.
    pub(super) fn written(&self, notation: LayoutNotation, depth: usize) -> String {
        let inline = self.inline(notation);
        let is_nested = match self {
            Self::Object(_) => depth == 0,
            Self::List(list) => list.iter().any(|one| matches!(one, Self::List(_))),
            Self::Text(_) | Self::Word(_) => false,
        };
        if !is_nested && inline.len() + 2 * depth <= MAX_LINE_CHARACTERS {
            return inline;
        }
        let inner = "  ".repeat(depth + 1);
        let lines = |parts: Vec<String>, open: char, close: char| {
            let separator = if notation == LayoutNotation::Json { ",\n" } else { "\n" };
            let lines: Vec<_> = parts.iter().map(|part| format!("{inner}{part}")).collect();
            format!("{open}\n{}\n{}{close}", lines.join(separator), "  ".repeat(depth))
        };
        match self {
            Self::Text(_) | Self::Word(_) => inline,
            Self::List(list) => {
                lines(list.iter().map(|one| one.written(notation, depth + 1)).collect(), '[', ']')
            }
            Self::Object(properties) => {
                let property = |(name, value): &(&str, Self)| {
                    format!("{}: {}", notation.name(name), value.written(notation, depth + 1))
                };
                lines(properties.iter().map(property).collect(), '{', '}')
            }
        }
    }

    fn inline(&self, notation: LayoutNotation) -> String {
        match self {
            Self::Text(text) => notation.text(text),
            Self::Word(word) => word.clone(),
            Self::List(list) => {
                let list: Vec<_> = list.iter().map(|one| one.inline(notation)).collect();
                format!("[{}]", list.join(", "))
            }
            Self::Object(properties) => {
                let property = |(name, value): &(&str, Self)| {
                    format!("{}: {}", notation.name(name), value.inline(notation))
                };
                let properties: Vec<_> = properties.iter().map(property).collect();
                format!("{{ {} }}", properties.join(", "))
            }
        }
    }
}

impl LayoutNotation {
    fn name(self, name: &str) -> String {
        match self {
            Self::Json => format!("\"{name}\""),
            Self::Bicep => name.to_owned(),
        }
    }

    fn text(self, text: &str) -> String {
        match self {
            Self::Json => Value::from(text).to_string(),
            Self::Bicep => {
                let text = text.replace('\\', "\\\\").replace('\'', "\\'").replace("${", "\\${");
                format!("'{}'", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"))
            }
        }
    }
}
