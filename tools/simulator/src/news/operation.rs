//! The operations that a client does.

use std::ops::Range;

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use tributary_local::chaos::Random;
use tributary_tools::Call;

use super::{
    News,
    text::{PROVIDERS, Text, text_of},
};

/// How many of everything there are.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Clients at work at the same time.
    pub clients: usize,
    /// Items of each client, at most 1,000 in all.
    pub items: usize,
    /// How much time passes on the clock of the app in the run, about: many items reach the age of the
    /// migration within it.
    pub passes: std::time::Duration,
    /// Items that no run of the migration or the archive can move, at most.
    pub poisoned: u64,
}

/// One operation of a client. Numbers are those of items in the [`News`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Operation {
    Post { item: usize, text: Text },
    Batch { posts: Vec<(usize, Text)> },
    Get { item: usize, path: String },
    List { window: Window },
    Search { item: usize, window: Window },
    Migrate,
    Archive,
}

/// A list, or the rest of one.
#[derive(Clone, Debug)]
pub struct Window {
    /// The number of the provider; `None` for all.
    pub provider: Option<usize>,
    /// The first moment.
    pub from: OffsetDateTime,
    /// The end.
    pub to: OffsetDateTime,
    /// How many items a page has.
    pub limit: u64,
    /// Where it goes on: the cursor, and the date of the last item before.
    rest: Option<(String, OffsetDateTime)>,
}

/// The age at which the migration takes an item: 30 days, and two hours of slack (docs/news.md).
const MIGRATED: Duration = Duration::hours(30 * 24 + 2);

/// Lists end long before what the archive may have.
const LISTED: i64 = 360;

/// The longest window, in days.
pub(super) const LONGEST: i64 = 92;

impl Operation {
    /// The next operation of a client.
    pub(super) fn random(client: usize, model: &mut News, random: &mut Random) -> Self {
        let own = model.own(client);
        let item = own.start + random.index(own.len());
        // What a failed batch has left is made certain first.
        if let Some(item) = own.clone().find(|&item| model.items[item].is_uncertain()) {
            return Self::Post { item, text: Text::random(model, item, random) };
        }
        let known = model.items[item].path().map(str::to_owned).zip(model.items[item].published());
        match (random.below(100), known) {
            (0..8, _) => {
                let mut items: Vec<usize> = own.collect();
                random.shuffle(&mut items);
                items.truncate(2 + random.index(5));
                let text = |item| (item, Text::random(model, item, random));
                Self::Batch { posts: items.into_iter().map(text).collect() }
            }
            (8..14, _) => Self::Migrate,
            (14, _) => Self::Archive,
            (15..40, _) => {
                let window = model.pages[client].take();
                Self::List { window: window.unwrap_or_else(|| Window::random(model, random)) }
            }
            (40..54, Some((path, _))) => Self::Get { item, path },
            (54..58, Some((_, published))) if published > model.days_ago(LISTED) => {
                Self::Search { item, window: Window::around(published, random) }
            }
            _ => Self::Post { item, text: Text::random(model, item, random) },
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

impl Text {
    /// The next version of an item: of the same date, of one that is due to be migrated soon, of a new
    /// one, of one that is old already, or of one for the archive.
    fn random(model: &mut News, item: usize, random: &mut Random) -> Self {
        const DAY: u64 = 24 * 60 * 60;
        let seconds = |seconds: u64| Duration::seconds(i64::try_from(seconds).unwrap_or(0));
        let passes = model.size.passes.as_secs();
        let age = match random.below(100) {
            0..30 => None,
            // Some are old enough, some become it.
            30..65 => Some(MIGRATED - seconds(passes) + seconds(random.below(passes + DAY / 8))),
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

impl Window {
    fn random(model: &News, random: &mut Random) -> Self {
        let provider = random.chance(0.7).then(|| random.index(PROVIDERS.len()));
        let days = 1 + i64::try_from(random.below(45)).unwrap_or(0);
        let ago = i64::try_from(random.below(LISTED.unsigned_abs() - 50)).unwrap_or(0);
        // About the border between hot and warm, or anywhere.
        let ago = if random.chance(0.6) { 31 - days / 2 } else { ago };
        let to = model.days_ago(ago.max(0));
        let limit = [2, 7, 100][random.index(3)];
        Self::of(provider, to - Duration::days(days)..to, limit)
    }

    /// A window that has this moment.
    fn around(moment: OffsetDateTime, random: &mut Random) -> Self {
        let before = i64::try_from(random.below(LONGEST.unsigned_abs() - 2)).unwrap_or(0);
        Self::of(None, moment - Duration::days(before)..moment + Duration::days(1), 100)
    }

    /// The whole of a window, in pages of a size.
    pub(super) fn of(provider: Option<usize>, window: Range<OffsetDateTime>, limit: u64) -> Self {
        Self { provider, from: window.start, to: window.end, limit, rest: None }
    }

    /// What comes after a page.
    pub(super) fn after(&self, cursor: &str, last: OffsetDateTime) -> Self {
        Self { rest: Some((cursor.to_owned(), last)), ..self.clone() }
    }

    /// Returns true if an item of this date may be in a page of it.
    pub(super) fn has(&self, date: OffsetDateTime) -> bool {
        let end = self.rest.as_ref().map(|(_, last)| *last);
        (self.from..self.to).contains(&date) && end.is_none_or(|end| date <= end)
    }

    /// The dates whose items must be in the page that ends with `last`; without it, in the last page.
    pub(super) fn covered(&self, last: Option<OffsetDateTime>) -> Range<OffsetDateTime> {
        let from = last.map_or(self.from, |last| last + Duration::MILLISECOND);
        from..self.rest.as_ref().map_or(self.to, |(_, before)| *before)
    }

    pub(super) fn path(&self, path: &str) -> String {
        let (from, to, limit) = (text_of(self.from), text_of(self.to), self.limit);
        let provider = self.provider.map(|provider| format!("&provider={}", PROVIDERS[provider]));
        let cursor = self.rest.as_ref().map(|(cursor, _)| format!("&cursor={cursor}"));
        let [provider, cursor] = [provider, cursor].map(Option::unwrap_or_default);
        format!("{path}from={from}&to={to}&limit={limit}{provider}{cursor}")
    }
}
