//! The news: items of a few providers. Crawlers post, edit and move them by their dates while time passes, and the
//! migration and the archive move old ones.
//!
//! Each client has items of its own, so it knows their exact state. But all clients share providers, and so partitions,
//! and all lists. The clock of the app runs faster, so many items reach the age of the migration within the run; after
//! it, months pass at once. An item that a batch could not store may have been stored: until its next post it may have
//! its former or its new state.

mod check;
mod item;
mod operations;
mod window;

use std::{ops::Range, time::Duration};

use http::Method;
use time::OffsetDateTime;
use tributary_local::{chaos::Random, client::Call};

use crate::{
    api::Comparison,
    workload::{CLIENTS, Operation, Workload, verdict},
};
use item::{ItemState, PROVIDERS, text_of};
use window::ListWindow;

const ITEMS: usize = 20;

/// The speed of the clock. A request may take half an hour on it (`Ages::SLACK` of the news): six
/// seconds, in which the SDK repeats a throttled one.
const CLOCK_RATE: i32 = 300;
const RUN: Duration = Duration::from_mins(5);

/// The age in days at which lists end, long before that of the archive.
const LISTED_DAYS: i64 = 360;

#[derive(Debug)]
pub(crate) struct News {
    /// The moment since which the clock of the app has run faster.
    clock_since: OffsetDateTime,
    strategy: &'static str,
    poisoned: usize,
    items: Vec<ItemState>,
    pages: Vec<Option<ListWindow>>,
    posted: u64,
}

impl News {
    /// Creates a model without items. An even seed has months that all providers share.
    pub(crate) fn new(poisoned: usize, seed: u64) -> Self {
        // The settings have a resolution of a millisecond.
        let now = OffsetDateTime::now_utc();
        Self {
            clock_since: now.replace_millisecond(now.millisecond()).unwrap_or(now),
            strategy: if seed.is_multiple_of(2) { "monthly" } else { "hybrid" },
            poisoned,
            items: vec![ItemState::default(); CLIENTS * ITEMS],
            pages: vec![None; CLIENTS],
            posted: 0,
        }
    }

    fn own(client: usize) -> Range<usize> {
        client * ITEMS..(client + 1) * ITEMS
    }

    fn now(&self) -> OffsetDateTime {
        self.clock_since + (OffsetDateTime::now_utc() - self.clock_since) * CLOCK_RATE
    }

    fn days_ago(&self, days: i64) -> OffsetDateTime {
        self.now() - time::Duration::days(days)
    }
}

impl Workload for News {
    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("Clock__Rate", CLOCK_RATE.to_string()),
            ("Clock__Since", text_of(self.clock_since)),
            ("News__HighVolumeProviders", PROVIDERS[0].to_owned()),
            ("News__PartitionStrategy", self.strategy.to_owned()),
        ]
    }

    fn next(&mut self, client: usize, random: &mut Random) -> Operation<Self> {
        let own = Self::own(client);
        let item = own.start + random.index(own.len());
        // An item that a failed batch left uncertain is made certain first.
        if let Some(item) = own.clone().find(|&item| self.items[item].is_uncertain()) {
            return self.post(item, random);
        }
        let known = self.items[item].path.clone().zip(self.items[item].published());
        match (random.below(100), known) {
            (0..8, _) => {
                let mut items: Vec<usize> = own.collect();
                random.shuffle(&mut items);
                items.truncate(2 + random.index(5));
                self.post_batch(items, random)
            }
            (pick @ 8..15, _) => {
                let job = if pick < 14 { "migrate" } else { "archive" };
                let call = Call::new(Method::POST, format!("/api/news/{job}"));
                Operation::new(call, |_: &mut Self, reply| verdict(reply.status == 200, &()))
            }
            (15..40, _) => {
                let window = self.pages[client].take();
                let window = window.unwrap_or_else(|| ListWindow::random(self, random));
                Self::list(client, window)
            }
            (40..54, Some((path, _))) => Self::get(item, &path),
            (54..58, Some((_, published))) if published > self.days_ago(LISTED_DAYS) => {
                Self::search(item, ListWindow::around(published, random))
            }
            _ => self.post(item, random),
        }
    }

    async fn check(&self, it: &mut Comparison<'_>) {
        // Before and after the migration, which must make no difference.
        self.check_lists(it).await;
        self.check_items(it).await;
        for path in ["/api/news/migrate", "/api/news/archive"] {
            self.finish_runs(it, path).await;
        }
        self.check_lists(it).await;
        self.check_items(it).await;
    }

    fn days_pass(&mut self, days: i32) -> bool {
        // So the clock, which runs faster since then, is ahead by these days.
        self.clock_since -= time::Duration::days(1) * days / (CLOCK_RATE - 1);
        true
    }
}
