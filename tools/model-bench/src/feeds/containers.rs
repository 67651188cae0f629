//! The containers of an architecture, newest items first, and what is in each.

use anyhow::Context;
use serde_json::{Value, json};
use time::OffsetDateTime;
use tributary_local::cosmos::ContainersFile;

use super::{
    MIGRATION_AGE, Window,
    architecture::{Architecture, Layout},
    keys::moment,
};

/// TTL of the hot container as the last resort, in seconds. The guide: 45 days.
const TTL_OF_HOT: i64 = 45 * super::DAY;

/// A container that is to be made.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) id: &'static str,
    definition: Value,
    /// When its items were published.
    pub(super) span: Window,
}

/// The containers for data that is published from a moment on.
pub(super) fn plans(architecture: Architecture, oldest: i64, now: i64) -> Vec<Plan> {
    let threshold = now - MIGRATION_AGE;
    let all = Window { from: i64::MIN, to: i64::MAX };
    match architecture.layout() {
        Layout::One => vec![plan("feeds", all, &full_index(), None)],
        Layout::HotWarm => {
            let (hot, warm) = (Window { from: threshold, ..all }, Window { to: threshold, ..all });
            vec![
                plan("feeds_current", hot, &full_index(), Some(TTL_OF_HOT)),
                plan("feeds_historical", warm, &selective_index(), None),
            ]
        }
        Layout::Yearly => {
            let years = moment(oldest).year()..=moment(now).year();
            years
                .rev()
                .map(|year| plan(name_of(year), span_of(year), &full_index(), None))
                .collect()
        }
    }
}

impl Plan {
    /// The definition of this container alone.
    pub(super) fn file(&self) -> anyhow::Result<ContainersFile> {
        let file = json!({ "containers": [self.definition] });
        Ok(ContainersFile::parse(&file.to_string())?)
    }
}

fn plan(id: &'static str, span: Window, index: &Value, ttl: Option<i64>) -> Plan {
    let mut definition = json!({
        "id": id,
        "partitionKey": { "paths": ["/partitionKey"], "kind": "Hash", "version": 2 },
        "indexingPolicy": index,
    });
    if let Some(ttl) = ttl {
        definition["defaultTtl"] = json!(ttl);
    }
    Plan { id, definition, span }
}

/// The guide's policy ("Container Configuration" of its appendix): all but the content and the raw
/// metadata, and both composite indexes.
fn full_index() -> Value {
    json!({
        "automatic": true,
        "indexingMode": "consistent",
        "includedPaths": [{ "path": "/*" }],
        "excludedPaths": [{ "path": "/content/?" }, { "path": "/metadata/rawData/*" }],
        "compositeIndexes": [
            [
                { "path": "/feedProviderId", "order": "ascending" },
                { "path": "/publishedDate", "order": "descending" },
            ],
            [
                { "path": "/publishedDate", "order": "descending" },
                { "path": "/crawledDate", "order": "descending" },
            ],
        ],
    })
}

/// Only what the queries look up.
fn selective_index() -> Value {
    json!({
        "automatic": true,
        "indexingMode": "consistent",
        "includedPaths": [
            { "path": "/feedProviderId/?" },
            { "path": "/publishedDate/?" },
            { "path": "/title/?" },
            { "path": "/tags/[]/?" },
        ],
        "excludedPaths": [{ "path": "/*" }],
        "compositeIndexes": [[
            { "path": "/feedProviderId", "order": "ascending" },
            { "path": "/publishedDate", "order": "descending" },
        ]],
    })
}

fn span_of(year: i32) -> Window {
    let start = |year: i32| {
        let date = time::Date::from_calendar_date(year, time::Month::January, 1);
        date.map(|date| date.midnight().assume_utc().unix_timestamp())
    };
    Window {
        from: start(year).unwrap_or(i64::MIN),
        to: start(year.saturating_add(1)).unwrap_or(i64::MAX),
    }
}

/// A container's id lives as long as the process does; there are as many as there are years.
fn name_of(year: i32) -> &'static str {
    format!("feeds_{year}").leak()
}

/// Reads midnight UTC of a date such as `2026-11-16`.
pub(super) fn midnight(date: &str) -> anyhow::Result<i64> {
    let text = format!("{date}T00:00:00Z");
    let format = &time::format_description::well_known::Rfc3339;
    let moment =
        OffsetDateTime::parse(&text, format).context("must be a date such as 2026-11-16")?;
    Ok(moment.unix_timestamp())
}
