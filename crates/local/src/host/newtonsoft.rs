//! The effect of Newtonsoft's JSON reader and writer on documents of a trigger.
//!
//! With date parsing, a string that looks like an ISO 8601 time or is `/Date(…)/` becomes a `DateTime`
//! and is written again. Numbers with a fraction or an exponent go through `double`. Some documents
//! make the reader throw ([`Exception`]). `tests/recorded/trigger-texts.json` has the real trigger's
//! texts of such documents.

mod date;

use serde_json::Value;

pub use date::rewritten_date;

/// The deepest nesting that the reader accepts.
const MAX_DEPTH: usize = 64;

/// `extensions.cosmosDB.serializerSettings.dateParseHandling` of `host.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DateParsing {
    /// Newtonsoft's default, `DateTime`.
    #[default]
    DateTime,
    /// `None`: a string stays a string.
    None,
}

/// An exception of the reader, thrown before the handler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exception {
    /// A date that .NET's `DateTime` cannot represent, such as `/Date(500000000000000)/`.
    #[error(
        "System.ArgumentOutOfRangeException: Ticks must be between DateTime.MinValue.Ticks and \
         DateTime.MaxValue.Ticks. (Parameter 'ticks')"
    )]
    DateOutOfRange,
    /// A page that is nested too deep, with any setting.
    #[error("Newtonsoft.Json.JsonReaderException: The reader's MaxDepth of 64 has been exceeded.")]
    TooDeep,
}

/// Returns the trigger's text of a page of documents.
///
/// # Errors
///
/// If one of the documents makes the reader throw.
pub fn write_page(documents: &[Value], dates: DateParsing) -> Result<String, Exception> {
    let mut writer = Writer { text: String::new(), dates };
    writer.array(documents, 1)?;
    Ok(writer.text)
}

/// Returns the trigger's text of one value.
///
/// # Errors
///
/// If it makes the reader throw.
pub fn write(value: &Value, dates: DateParsing) -> Result<String, Exception> {
    let mut writer = Writer { text: String::new(), dates };
    writer.value(value, 0)?;
    Ok(writer.text)
}

struct Writer {
    text: String,
    dates: DateParsing,
}

impl Writer {
    /// Appends a value inside `depth` arrays and objects.
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Exception> {
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Bool(bool) => self.text.push_str(if *bool { "true" } else { "false" }),
            Value::Number(number) => match number.as_f64() {
                Some(double) if number.is_f64() => self.text.push_str(&double_text(double)),
                _ => self.text.push_str(&number.to_string()),
            },
            Value::String(string) => {
                let date = match self.dates {
                    DateParsing::DateTime => rewritten_date(string)?,
                    DateParsing::None => None,
                };
                self.text.push_str(&quoted(date.as_deref().unwrap_or(string)));
            }
            Value::Array(items) => self.array(items, depth + 1)?,
            Value::Object(fields) => {
                self.open('{', depth + 1)?;
                for (index, (name, field)) in fields.iter().enumerate() {
                    self.separate(index);
                    self.text.push_str(&quoted(name));
                    self.text.push(':');
                    self.value(field, depth + 1)?;
                }
                self.text.push('}');
            }
        }
        Ok(())
    }

    fn array(&mut self, items: &[Value], depth: usize) -> Result<(), Exception> {
        self.open('[', depth)?;
        for (index, item) in items.iter().enumerate() {
            self.separate(index);
            self.value(item, depth)?;
        }
        self.text.push(']');
        Ok(())
    }

    fn open(&mut self, bracket: char, depth: usize) -> Result<(), Exception> {
        self.text.push(bracket);
        if depth > MAX_DEPTH { Err(Exception::TooDeep) } else { Ok(()) }
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.text.push(',');
        }
    }
}

/// Returns a JSON string literal. Newtonsoft escapes three line ends for which JSON needs no escape.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = Value::String(text.to_owned()).to_string();
    for (char, escape) in [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")]
    {
        if literal.contains(char) {
            literal = literal.replace(char, escape);
        }
    }
    literal
}

/// Returns .NET's shortest text that reads back as the same double, with a decimal point or an
/// exponent: `1E+20`, `1E-05`, `2.0`.
fn double_text(double: f64) -> String {
    let scientific = format!("{double:E}");
    let (mantissa, exponent) = scientific.split_once('E').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // From 1E+15 up and below 1E-04 .NET writes an exponent of at least two digits.
    if !(-4..15).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}E{sign}{:02}", exponent.abs());
    }
    let plain = double.to_string();
    if plain.contains('.') { plain } else { plain + ".0" }
}
