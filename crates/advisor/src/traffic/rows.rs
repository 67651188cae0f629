//! Rows of an export: CSV, JSON Lines, or a JSON array.

use std::io::{BufRead, Read};

use anyhow::{Context, anyhow};
use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};
use time::{
    OffsetDateTime, PrimitiveDateTime,
    format_description::{BorrowedFormatItem, well_known::Rfc3339},
    macros::format_description,
};

const PORTAL_TIME_FORMAT: &[BorrowedFormatItem<'_>] = format_description!(
    "[month padding:none]/[day padding:none]/[year], [hour repr:12 padding:none]:[minute]:[second].[subsecond] \
     [period]"
);

#[derive(Debug)]
pub(crate) struct TrafficRow(Map<String, Value>);

impl TrafficRow {
    pub(crate) fn new(mut columns: Map<String, Value>) -> Self {
        // A row of AppTraces contains the handler's line.
        let line = ["Message", "message"].into_iter().find_map(|name| columns.get(name)?.as_str());
        if let Some(Ok(Value::Object(line))) = line.map(serde_json::from_str) {
            columns.extend(line);
        }
        Self(columns)
    }

    pub(crate) fn text(&self, column: &str) -> Option<&str> {
        self.0.get(column)?.as_str().filter(|text| !text.is_empty())
    }

    pub(crate) fn number(&self, columns: &[&str]) -> Option<f64> {
        let value = columns.iter().find_map(|column| self.0.get(*column))?;
        let number = match value {
            Value::String(text) => text.replace(',', "").parse().ok(),
            value => value.as_f64(),
        };
        number.filter(|number: &f64| number.is_finite() && *number >= 0.0)
    }

    pub(crate) fn has(&self, column: &str) -> bool {
        self.0.get(column).is_some_and(|value| !value.is_null())
    }

    pub(super) fn time(&self) -> Option<OffsetDateTime> {
        let text = ["TimeGenerated", "timestamp"].into_iter().find_map(|name| self.text(name))?;
        OffsetDateTime::parse(text, &Rfc3339)
            .or_else(|_| OffsetDateTime::parse(&format!("{text}Z"), &Rfc3339))
            .or_else(|_| {
                PrimitiveDateTime::parse(text, PORTAL_TIME_FORMAT)
                    .map(PrimitiveDateTime::assume_utc)
            })
            .ok()
    }

    pub(super) fn columns(&self) -> String {
        let names: Vec<_> = self.0.keys().take(12).map(String::as_str).collect();
        names.join(", ")
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Rows {
    One(Map<String, Value>),
    Several(Vec<Map<String, Value>>),
}

/// Reads rows. An array is read as a whole: Log Analytics gives at most 64 MB.
pub(crate) fn read(mut from: impl BufRead, mut each: impl FnMut(TrafficRow)) -> anyhow::Result<()> {
    // The byte-order mark of the portal.
    if from.fill_buf().context("cannot be read")?.starts_with(b"\xEF\xBB\xBF") {
        from.consume(3);
    }
    let first = from.fill_buf()?.iter().find(|byte| !byte.is_ascii_whitespace());
    if !matches!(first, Some(b'[' | b'{')) {
        return table(from, each);
    }
    for rows in Deserializer::from_reader(from).into_iter() {
        match rows.map_err(|error| {
            anyhow!("is no JSON: {error}; write a JSON array, or one object a line")
        })? {
            Rows::One(row) => each(TrafficRow::new(row)),
            Rows::Several(rows) => rows.into_iter().map(TrafficRow::new).for_each(&mut each),
        }
    }
    Ok(())
}

fn table(from: impl Read, mut each: impl FnMut(TrafficRow)) -> anyhow::Result<()> {
    let no_csv = |error: csv::Error| anyhow!("is no CSV: {error}");
    let mut reader = csv::Reader::from_reader(from);
    // The portal adds the zone to the names of times: `TimeGenerated [UTC]`.
    let head = |name: &str| name.trim().trim_end_matches(" [UTC]").to_owned();
    let heads: Vec<String> = reader.headers().map_err(no_csv)?.iter().map(head).collect();
    for row in reader.records() {
        let row = row.map_err(no_csv)?;
        let columns = heads.iter().cloned().zip(row.iter().map(Value::from));
        each(TrafficRow::new(columns.collect()));
    }
    Ok(())
}
