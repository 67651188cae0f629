//! Rows of an export: CSV, also with semicolons or tabs, JSON Lines, or a JSON array.

use std::io::BufRead;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::source;

/// The columns with numbers, which CSV and the command line write as texts.
const NUMBERS: [&str; 6] =
    ["Requests", "count_", "RequestCharge", "sum_RequestCharge", "SizeKb", "StatusCode"];

#[derive(Debug)]
pub(crate) struct TrafficRow(Map<String, Value>);

impl TrafficRow {
    fn new(mut columns: Map<String, Value>, decimal_comma: Option<bool>) -> anyhow::Result<Self> {
        for name in NUMBERS {
            let text = columns.get(name).and_then(Value::as_str).map(str::trim);
            if let Some(text) = text.filter(|text| text.contains(|c: char| c.is_ascii_digit())) {
                let uncertain =
                    "is not certain: say by --decimal-comma=true or --decimal-comma=false";
                let number = number(text, decimal_comma);
                let number =
                    number.with_context(|| format!("{name} such as {} {uncertain}", form(text)))?;
                columns.insert(name.to_owned(), number.into());
            }
        }
        // A row of AppTraces contains the handler's line.
        let line = ["Message", "message"].into_iter().find_map(|name| columns.get(name)?.as_str());
        if let Some(Ok(Value::Object(line))) = line.map(serde_json::from_str) {
            columns.extend(line);
        }
        Ok(Self(columns))
    }

    pub(crate) fn text(&self, column: &str) -> Option<&str> {
        self.0.get(column)?.as_str().filter(|text| !text.is_empty())
    }

    pub(crate) fn number(&self, columns: &[&str]) -> Option<f64> {
        let value = columns.iter().find_map(|column| self.0.get(*column))?;
        value.as_f64().filter(|number: &f64| number.is_finite() && *number >= 0.0)
    }

    pub(crate) fn has(&self, column: &str) -> bool {
        self.0.get(column).is_some_and(|value| !value.is_null())
    }

    /// Returns the text of the time, which is empty where the row only has its column.
    pub(super) fn time(&self) -> Option<&str> {
        let time = ["TimeGenerated", "timestamp"].into_iter().find_map(|name| self.0.get(name))?;
        Some(time.as_str().unwrap_or_default())
    }

    pub(super) fn columns(&self) -> String {
        let names: Vec<_> = self.0.keys().take(12).map(String::as_str).collect();
        names.join(", ")
    }
}

/// Returns the time of a text, or `None` for a text of another form. Those of the portal are in the browser's language.
pub(super) fn time(text: &str, day_first: Option<bool>) -> anyhow::Result<Option<OffsetDateTime>> {
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    if let Some(time) = parse(text).or_else(|| parse(&format!("{text}Z"))) {
        return Ok(Some(time));
    }
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok());
    let [a, b, c, hour, minute, second, ..] = numbers.collect::<Vec<u32>>()[..] else {
        return Ok(None);
    };
    let noon = if text.contains(['p', 'P']) { 12 } else { 0 };
    let hour = if text.contains(['m', 'M']) { hour % 12 + noon } else { hour };
    let time = |year: u32, month: u32, day: u32| {
        parse(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
    };
    match (time(c, a, b), time(c, b, a), day_first) {
        _ if a > 31 => Ok(time(a, b, c)),
        (time, _, Some(false)) | (_, time, Some(true)) => Ok(time),
        // In capitals, AM and PM are those of the United States.
        (Some(one), Some(other), None) if one != other && !text.ends_with('M') => bail!(
            "TimeGenerated such as {} can be read in two ways: say by --day-first=true or --day-first=false",
            form(text)
        ),
        (one, other, None) => Ok(one.or(other)),
    }
}

/// Returns a number that has one meaning, or the one of `decimal_comma`.
fn number(text: &str, decimal_comma: Option<bool>) -> Option<f64> {
    let with = |decimal: char| {
        let whole = text.split(decimal).next()?;
        let groups: Vec<_> =
            whole.split(|c: char| c.is_whitespace() || ".,'’".contains(c)).collect();
        let is_first = matches!(groups[0].len(), 1..=3) && !groups[0].starts_with('0');
        let is_grouped = is_first && groups[1..].iter().all(|group| group.len() == 3);
        let number = groups.concat() + &text[whole.len()..].replacen(decimal, ".", 1);
        number.parse::<f64>().ok().filter(|_| is_grouped || groups.len() == 1)
    };
    let [point, comma] = ['.', ','].map(with);
    match decimal_comma {
        Some(true) => comma,
        Some(false) => point,
        None => point.or(comma).filter(|n| comma.is_none_or(|c| c.to_bits() == n.to_bits())),
    }
}

pub(super) fn form(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

pub(crate) fn read(
    from: impl BufRead,
    decimal_comma: Option<bool>,
    mut each: impl FnMut(TrafficRow) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut from = source::text(from)?;
    let head = from.fill_buf()?.trim_ascii_start();
    if head.starts_with(b"[") || head.starts_with(b"{") {
        // The writers of JSON have a decimal point.
        let decimal_comma = decimal_comma.or(Some(false));
        return source::objects(from, |row| each(TrafficRow::new(row, decimal_comma)?));
    }
    let no_csv = |error: csv::Error| match error.kind() {
        csv::ErrorKind::Utf8 { .. } => anyhow!(
            "is not UTF-8: convert it by `iconv -f WINDOWS-1252 -t UTF-8 FILE > UTF8_FILE` ({error})"
        ),
        _ => anyhow!("is no CSV: {error}"),
    };
    let heads = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let separator = heads.iter().find(|byte| b",;\t".contains(byte)).copied().unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).from_reader(from);
    // The portal adds the zone to the names of times: `TimeGenerated [UTC]`, `TimeGenerated [Local Time]`.
    let head = |name: &str| name.split(" [").next().unwrap_or_default().trim().to_owned();
    let heads: Vec<String> = reader.headers().map_err(no_csv)?.iter().map(head).collect();
    for row in reader.records() {
        let row = row.map_err(no_csv)?;
        let columns = heads.iter().cloned().zip(row.iter().map(Value::from));
        each(TrafficRow::new(columns.collect(), decimal_comma)?)?;
    }
    Ok(())
}
