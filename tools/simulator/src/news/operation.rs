//! The operations of a client.

use std::ops::Range;

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use super::{
    News,
    text::{ItemText, PROVIDERS, text_of},
};

/// The numbers of clients and items.
#[derive(Clone, Copy, Debug)]
pub struct NewsSize {
    /// Clients that work at the same time.
    pub clients: usize,
    /// Items of each client, at most 1,000 in all.
    pub items: usize,
    /// The time that passes on the clock of the app in the run, about: many items reach the age of the
    /// migration within it.
    pub passes: std::time::Duration,
    /// Items that no run of the migration or the archive can move, at most.
    pub poisoned: u64,
}

/// One operation of a client. Numbers are those of items in the [`News`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum NewsOperation {
    Post { item: usize, text: ItemText },
    Batch { posts: Vec<(usize, ItemText)> },
    Get { item: usize, path: String },
    List { window: ListWindow },
    Search { item: usize, window: ListWindow },
    Migrate,
    Archive,
}

/// A list, or the rest of one.
#[derive(Clone, Debug)]
pub struct ListWindow {
    /// The number of the provider; `None` for all.
    pub provider: Option<usize>,
    /// The first moment.
    pub from: OffsetDateTime,
    /// The end.
    pub to: OffsetDateTime,
    /// The number of items of a page.
    pub limit: u64,
    /// The continuation: the cursor, and the date of the last item before.
    rest: Option<(String, OffsetDateTime)>,
}

/// The age at which the migration moves an item: 30 days, and two hours of slack (docs/news.md).
const MIGRATION_AGE: Duration = Duration::hours(30 * 24 + 2);

/// The age in days at which lists end, long before that of the archive.
const LISTED_DAYS: i64 = 360;

/// The longest window, in days.
pub(super) const MAX_WINDOW_DAYS: i64 = 92;

impl NewsOperation {
    /// Returns the next operation of a client.
    pub(super) fn random(client: usize, model: &mut News, random: &mut Random) -> Self {
        let own = model.own(client);
        let item = own.start + random.index(own.len());
        // An item that a failed batch left uncertain is made certain first.
        if let Some(item) = own.clone().find(|&item| model.items[item].is_uncertain()) {
            return Self::Post { item, text: ItemText::random(model, item, random) };
        }
        let known = model.items[item].path().map(str::to_owned).zip(model.items[item].published());
        match (random.below(100), known) {
            (0..8, _) => {
                let mut items: Vec<usize> = own.collect();
                random.shuffle(&mut items);
                items.truncate(2 + random.index(5));
                let text = |item| (item, ItemText::random(model, item, random));
                Self::Batch { posts: items.into_iter().map(text).collect() }
            }
            (8..14, _) => Self::Migrate,
            (14, _) => Self::Archive,
            (15..40, _) => {
                let window = model.pages[client].take();
                Self::List { window: window.unwrap_or_else(|| ListWindow::random(model, random)) }
            }
            (40..54, Some((path, _))) => Self::Get { item, path },
            (54..58, Some((_, published))) if published > model.days_ago(LISTED_DAYS) => {
                Self::Search { item, window: ListWindow::around(published, random) }
            }
            _ => Self::Post { item, text: ItemText::random(model, item, random) },
        }
    }

    pub(super) fn call(&self, _: &News) -> Call {
        match self {
            Self::Post { item, text } => {
                Call::new(Method::POST, "/api/news/items").json(text.body(*item))
            }
            Self::Batch { posts } => {
                let items: Vec<Value> = posts.iter().map(|(item, text)| text.body(*item)).collect();
                Call::new(Method::POST, "/api/news/items/batch").json(json!({ "items": items }))
            }
            Self::Get { path, .. } => Call::get(path),
            Self::List { window } => Call::get(window.path("/api/news/items?")),
            Self::Search { item, window } => {
                Call::get(window.path(&format!("/api/news/search?q=ITEM-{item}.&")))
            }
            Self::Migrate => Call::new(Method::POST, "/api/news/migrate"),
            Self::Archive => Call::new(Method::POST, "/api/news/archive"),
        }
    }
}

impl News {
    pub(super) fn days_ago(&self, days: i64) -> OffsetDateTime {
        self.clock.now() - Duration::days(days)
    }
}

impl ItemText {
    /// Returns the next version of an item: with the same date, with one that is due for the migration
    /// soon, with a new one, with one that is old already, or with one for the archive.
    fn random(model: &mut News, item: usize, random: &mut Random) -> Self {
        const DAY: u64 = 24 * 60 * 60;
        let seconds = |seconds: u64| Duration::seconds(i64::try_from(seconds).unwrap_or(0));
        let passes = model.size.passes.as_secs();
        let age = match random.below(100) {
            0..30 => None,
            // Some are old enough, some reach the age within the run.
            30..65 => {
                Some(MIGRATION_AGE - seconds(passes) + seconds(random.below(passes + DAY / 8)))
            }
            65..85 => Some(seconds(random.below(29 * DAY))),
            85..95 => Some(seconds(random.below(170 * DAY)) + Duration::days(31)),
            _ => Some(seconds(random.below(500 * DAY)) + Duration::days(400)),
        };
        model.posted += 1;
        let title = format!("Version {} of item-{item}.", model.posted);
        let known = model.items[item].published();
        let published = match (age, known) {
            (None, Some(published)) => published,
            (age, _) => {
                let moment = model.clock.now() - age.unwrap_or(Duration::days(1));
                // Each item has a millisecond of its own.
                let millisecond = u16::try_from(item % 1_000).unwrap_or(0);
                moment.replace_millisecond(millisecond).unwrap_or(moment)
            }
        };
        Self { title, published }
    }
}

impl ListWindow {
    fn random(model: &News, random: &mut Random) -> Self {
        let provider = random.chance(0.7).then(|| random.index(PROVIDERS.len()));
        let days = 1 + i64::try_from(random.below(45)).unwrap_or(0);
        let ago = i64::try_from(random.below(LISTED_DAYS.unsigned_abs() - 50)).unwrap_or(0);
        // Near the border between hot and warm, or at any age.
        let ago = if random.chance(0.6) { 31 - days / 2 } else { ago };
        let to = model.days_ago(ago.max(0));
        let limit = [2, 7, 100][random.index(3)];
        Self::new(provider, to - Duration::days(days)..to, limit)
    }

    /// Returns a window that has this moment.
    fn around(moment: OffsetDateTime, random: &mut Random) -> Self {
        let before = i64::try_from(random.below(MAX_WINDOW_DAYS.unsigned_abs() - 2)).unwrap_or(0);
        Self::new(None, moment - Duration::days(before)..moment + Duration::days(1), 100)
    }

    /// Creates a whole window, in pages of a size.
    pub(super) fn new(provider: Option<usize>, window: Range<OffsetDateTime>, limit: u64) -> Self {
        Self { provider, from: window.start, to: window.end, limit, rest: None }
    }

    /// Returns the rest after a page.
    pub(super) fn after(&self, cursor: &str, last: OffsetDateTime) -> Self {
        Self { rest: Some((cursor.to_owned(), last)), ..self.clone() }
    }

    /// Returns true if an item of this date may be in a page of it.
    pub(super) fn has(&self, date: OffsetDateTime) -> bool {
        let end = self.rest.as_ref().map(|(_, last)| *last);
        (self.from..self.to).contains(&date) && end.is_none_or(|end| date <= end)
    }

    /// Returns the dates whose items must be in the page that ends with `last`; without it, in the last
    /// page.
    pub(super) fn covered(&self, last: Option<OffsetDateTime>) -> Range<OffsetDateTime> {
        let from = last.map_or(self.from, |last| last + Duration::MILLISECOND);
        from..self.rest.as_ref().map_or(self.to, |(_, before)| *before)
    }

    pub(super) fn path(&self, path: &str) -> String {
        let from = text_of(self.from);
        let to = text_of(self.to);
        let limit = self.limit;
        let provider = self.provider.map(|provider| format!("&provider={}", PROVIDERS[provider]));
        let cursor = self.rest.as_ref().map(|(cursor, _)| format!("&cursor={cursor}"));
        let [provider, cursor] = [provider, cursor].map(Option::unwrap_or_default);
        format!("{path}from={from}&to={to}&limit={limit}{provider}{cursor}")
    }
}
