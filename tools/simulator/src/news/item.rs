//! Items as clients post them and as answers show them.

use std::time::Instant;

use serde_json::{Value, json};
use time::{
    Duration, OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description,
};
use tributary_local::chaos::Random;

use super::{CLOCK_RATE, News, RUN};
use crate::{api::text, versions::Versions};

pub(super) const PROVIDERS: [&str; 3] = ["reuters", "gazette", "herald"];

/// The age at which the migration moves an item: 30 days, and two hours of slack (docs/news.md).
const MIGRATION_AGE: Duration = Duration::hours(30 * 24 + 2);

#[derive(Clone, Debug)]
pub(super) struct ItemText {
    /// The title, which no other version has.
    pub(super) title: String,
    /// The date of its publication: no other item has this millisecond.
    pub(super) published: OffsetDateTime,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ItemState {
    pub(super) text: Versions<ItemText>,
    /// The states that failed batches may have given it since.
    pub(super) maybe: Vec<ItemText>,
    pub(super) path: Option<String>,
}

impl ItemState {
    pub(super) fn versions(&self, oldest: Instant) -> Vec<Option<&ItemText>> {
        self.text.since(oldest).chain(self.maybe.iter().map(Some)).collect()
    }

    pub(super) fn published(&self) -> Option<OffsetDateTime> {
        self.text.now().filter(|_| self.maybe.is_empty()).map(|text| text.published)
    }

    pub(super) fn is_uncertain(&self) -> bool {
        !self.maybe.is_empty()
    }
}

impl ItemText {
    /// Returns the next version of an item: with the same date, with one that is due for the migration
    /// soon, with a new one, with one that is old already, or with one for the archive.
    pub(super) fn random(model: &mut News, item: usize, random: &mut Random) -> Self {
        let days = |days: i64| Duration::days(days);
        let mut below = |end: Duration| {
            let seconds = random.below(end.whole_seconds().unsigned_abs());
            Duration::seconds(i64::try_from(seconds).unwrap_or(0))
        };
        let passes = Duration::try_from(RUN).unwrap_or(Duration::ZERO) * CLOCK_RATE;
        let kind = below(Duration::seconds(100)).whole_seconds();
        let age = match kind {
            0..30 => None,
            // Some are old enough, some reach the age within the run.
            30..65 => Some(MIGRATION_AGE - passes + below(passes + Duration::hours(3))),
            65..85 => Some(below(days(29))),
            85..95 => Some(days(31) + below(days(170))),
            _ => Some(days(400) + below(days(500))),
        };
        model.posted += 1;
        let title = format!("Version {} of item-{item}.", model.posted);
        let published = match (age, model.items[item].published()) {
            (None, Some(published)) => published,
            (age, _) => {
                let moment = model.now() - age.unwrap_or(days(1));
                // Each item has a millisecond of its own.
                let millisecond = u16::try_from(item % 1_000).unwrap_or(0);
                moment.replace_millisecond(millisecond).unwrap_or(moment)
            }
        };
        Self { title, published }
    }

    pub(super) fn body(&self, item: usize) -> Value {
        json!({
            "feedProviderId": provider(item), "title": self.title, "content": "Some content.",
            "publishedDate": text_of(self.published), "sourceUrl": url(item), "tags": ["world"],
        })
    }

    pub(super) fn is_shown(&self, item: usize, shown: &Value) -> bool {
        shown["title"] == self.title
            && shown["publishedDate"] == text_of(self.published)
            && shown["feedProviderId"] == provider(item)
            && shown["sourceUrl"] == url(item)
    }
}

pub(super) fn provider(item: usize) -> &'static str {
    PROVIDERS[item % PROVIDERS.len()]
}

fn url(item: usize) -> String {
    format!("https://{}.example.com/{item}", provider(item))
}

pub(super) fn number_of(shown: &Value) -> Option<usize> {
    text(shown, "sourceUrl").rsplit('/').next()?.parse().ok()
}

pub(super) fn path_of(shown: &Value) -> Option<String> {
    let [key, id] = [&shown["partitionKey"], &shown["id"]].map(Value::as_str);
    Some(format!("/api/news/items/{}/{}", key?, id?))
}

pub(super) fn date_of(shown: &Value) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text(shown, "publishedDate"), &Rfc3339).ok()
}

pub(super) fn text_of(moment: OffsetDateTime) -> String {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    moment.format(format).unwrap_or_default()
}
