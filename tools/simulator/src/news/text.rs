//! Items as clients post them and as answers show them.

use serde_json::{Value, json};
use time::{OffsetDateTime, macros::format_description};

/// The providers, the first of them with a high volume.
pub(super) const PROVIDERS: [&str; 3] = ["reuters", "gazette", "herald"];

/// An item in the form that its client has posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemText {
    /// The title, which no other version has.
    pub title: String,
    /// The date of its publication: no other item has this millisecond.
    pub published: OffsetDateTime,
}

impl ItemText {
    pub(super) fn body(&self, item: usize) -> Value {
        json!({
            "feedProviderId": provider(item), "title": self.title, "content": "Some content.",
            "publishedDate": text_of(self.published), "sourceUrl": url(item), "tags": ["world"],
        })
    }

    /// Returns true if an answer shows this item in this version.
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

/// Formats a moment as the API does.
pub(super) fn text_of(moment: OffsetDateTime) -> String {
    let format =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
    moment.format(format).unwrap_or_default()
}
