//! Lists, or the rests of lists.

use std::ops::Range;

use serde_json::Value;
use time::{Duration, OffsetDateTime};
use tributary_local::chaos::Random;

use super::{
    LISTED_DAYS, News,
    item::{PROVIDERS, date_of, provider, text_of},
};
use crate::api::listed;

pub(super) const MAX_WINDOW_DAYS: i64 = 92;

#[derive(Clone, Debug)]
pub(super) struct ListWindow {
    provider: Option<usize>,
    from: OffsetDateTime,
    to: OffsetDateTime,
    limit: u64,
    rest: Option<(String, OffsetDateTime)>,
}

impl ListWindow {
    pub(super) fn random(model: &News, random: &mut Random) -> Self {
        let provider = random.chance(0.7).then(|| random.index(PROVIDERS.len()));
        let days = 1 + i64::try_from(random.below(45)).unwrap_or(0);
        let ago = i64::try_from(random.below(LISTED_DAYS.unsigned_abs() - 50)).unwrap_or(0);
        // Near the border between hot and warm, or at any age.
        let ago = if random.chance(0.6) { 31 - days / 2 } else { ago };
        let to = model.days_ago(ago.max(0));
        let limit = [2, 7, 100][random.index(3)];
        Self::new(provider, to - Duration::days(days)..to, limit)
    }

    pub(super) fn around(moment: OffsetDateTime, random: &mut Random) -> Self {
        let before = i64::try_from(random.below(MAX_WINDOW_DAYS.unsigned_abs() - 2)).unwrap_or(0);
        Self::new(None, moment - Duration::days(before)..moment + Duration::days(1), 100)
    }

    pub(super) fn new(provider: Option<usize>, window: Range<OffsetDateTime>, limit: u64) -> Self {
        Self { provider, from: window.start, to: window.end, limit, rest: None }
    }

    pub(super) fn has_provider_of(&self, item: usize) -> bool {
        self.provider.is_none_or(|it| PROVIDERS[it] == provider(item))
    }

    /// Returns true if an item of this date may be in a page of it.
    pub(super) fn has(&self, date: OffsetDateTime) -> bool {
        let end = self.rest.as_ref().map(|(_, last)| *last);
        (self.from..self.to).contains(&date) && end.is_none_or(|end| date <= end)
    }

    /// Returns the dates whose items must be in this page.
    pub(super) fn covered(&self, page: &Value) -> Range<OffsetDateTime> {
        let from = self.last_of(page).map_or(self.from, |last| last + Duration::MILLISECOND);
        from..self.end()
    }

    pub(super) fn after(&self, page: &Value) -> Option<Self> {
        let rest = (page["nextCursor"].as_str()?.to_owned(), self.last_of(page)?);
        Some(Self { rest: Some(rest), ..self.clone() })
    }

    /// Returns the date up to which a page that is not the last has all items: that of its last item. A
    /// page may be short, and even empty.
    fn last_of(&self, page: &Value) -> Option<OffsetDateTime> {
        page["nextCursor"].as_str()?;
        let last = listed(page).iter().filter_map(date_of).next_back();
        Some(last.unwrap_or(self.end()))
    }

    fn end(&self) -> OffsetDateTime {
        self.rest.as_ref().map_or(self.to, |(_, before)| *before)
    }

    pub(super) fn path(&self, path: &str) -> String {
        let Self { provider, from, to, limit, rest } = self;
        let provider = provider.map(|provider| format!("&provider={}", PROVIDERS[provider]));
        let cursor = rest.as_ref().map(|(cursor, _)| format!("&cursor={cursor}"));
        let [provider, cursor] = [provider, cursor].map(Option::unwrap_or_default);
        let [from, to] = [from, to].map(|moment| text_of(*moment));
        format!("{path}from={from}&to={to}&limit={limit}{provider}{cursor}")
    }
}
