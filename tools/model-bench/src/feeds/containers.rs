//! The containers of an architecture, newest items first, and their items.

use anyhow::Context;
use serde_json::{Value, json};
use time::OffsetDateTime;
use tributary_local::cosmos::ContainersFile;

use super::{
    MIGRATION_AGE, TimeWindow,
    architecture::{Architecture, Layout},
    keys::moment,
};

/// TTL of the hot container as the last resort, in seconds. The guide: 45 days.
const TTL_OF_HOT: i64 = 45 * super::DAY_SECONDS;

/// A container to create.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) id: &'static str,
    definition: Value,
    /// The range of its items' publication.
    pub(super) span: TimeWindow,
}

/// Returns the containers for data that is published from a moment on.
pub(super) fn plans(architecture: Architecture, oldest: i64, now: i64) -> Vec<Plan> {
    let threshold = now - MIGRATION_AGE;
    let all = TimeWindow { from: i64::MIN, to: i64::MAX };
    match architecture.layout() {
        Layout::One => vec![plan("feeds", all, &full_index(), None)],
        Layout::HotWarm => {
            let hot = TimeWindow { from: threshold, ..all };
            let warm = TimeWindow { to: threshold, ..all };
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
    /// Returns the definition of this container alone.
    pub(super) fn file(&self) -> anyhow::Result<ContainersFile> {
        let file = json!({ "containers": [self.definition] });
        Ok(ContainersFile::parse(&file.to_string())?)
    }
}

fn plan(id: &'static str, span: TimeWindow, index: &Value, ttl: Option<i64>) -> Plan {
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

/// Returns the guide's policy ("Container Configuration" of its appendix): all but the content and the
/// raw metadata, and both composite indexes.
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

/// Returns a policy with only the properties that the queries filter by.
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

fn span_of(year: i32) -> TimeWindow {
    let start = |year: i32| {
        let date = time::Date::from_calendar_date(year, time::Month::January, 1);
        date.map(|date| date.midnight().assume_utc().unix_timestamp())
    };
    TimeWindow {
        from: start(year).unwrap_or(i64::MIN),
        to: start(year.saturating_add(1)).unwrap_or(i64::MAX),
    }
}

/// Returns a container's id, which lives as long as the process; there are as many as there are years.
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
