//! What each shape asks, and of which items: left to chance, and the same for all architectures.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use tributary_local::{
    chaos::Random,
    cosmos::{RequestKind, StoreRequest},
};

use super::{
    Window,
    data::{DataSet, FeedItem, RARE_WORD},
    router::{Ask, Feeds},
    shape::Shape,
    writes::MIGRATED_AT_ONCE,
};
use crate::measure::Asked;

/// Items of a page.
pub(super) const PAGE: u32 = 20;
/// Items that "all providers" reads, five pages. The guide reads by 100.
const NEWEST: u32 = 100;

/// The days of the windows.
pub(super) const WEEK: i64 = 7;
pub(super) const MONTH: i64 = 30;
pub(super) const QUARTER: i64 = 92;
pub(super) const YEAR: i64 = 365;

/// One shape of requests to one architecture.
pub(super) struct Calls<'a> {
    shape: Shape,
    feeds: &'a Feeds,
    data: &'a DataSet,
    random: Random,
    /// How many items that are not in the data set were made.
    made: usize,
    /// Request units of each step of the migration, in all its runs.
    pub(super) by_step: BTreeMap<&'static str, f64>,
    /// How many items these runs were about.
    pub(super) n_noted: u32,
}

/// A request with what it is about.
pub(super) enum Call<'a> {
    Page(Ask<'a>),
    Scan(Window),
    Counts(Window),
    Read(String, String),
    Put(Box<FeedItem>),
    PutAll(Vec<FeedItem>),
    Migrate,
}

impl<'a> Calls<'a> {
    pub(super) fn new(shape: Shape, feeds: &'a Feeds, data: &'a DataSet) -> Self {
        let random = Random::stream(data.shape.seed, 100 + shape as u64);
        // Each shape has its own numbers, so that no item is made twice.
        let made = shape as usize * 10_000_000;
        Self { shape, feeds, data, random, made, by_step: BTreeMap::new(), n_noted: 0 }
    }

    /// New items of the ten minutes before a moment.
    fn new_items(&mut self, count: u32, before: i64) -> anyhow::Result<Vec<FeedItem>> {
        let mut items = Vec::new();
        for _ in 0..count {
            let age = i64::try_from(self.random.below(600))?;
            let plan = self.data.another(self.made, before - 1 - age);
            self.made += 1;
            items.push(self.feeds.item(self.data, &plan)?);
        }
        Ok(items)
    }

    fn newest(&self, days: i64) -> Ask<'a> {
        let window = Window::days_before(self.data.shape.now, days);
        Ask { window, provider: None, word: None, limit: PAGE, page_size: PAGE }
    }

    fn of_provider(&mut self, has_high_volume: bool) -> Ask<'a> {
        let providers = self.data.providers(has_high_volume);
        let provider = providers.start + self.random.index(providers.len());
        Ask { provider: Some(self.data.provider(provider)), ..self.newest(MONTH) }
    }

    /// Any item of the last days, or of all when there are none.
    fn any_item(&mut self, days: Option<i64>) -> anyhow::Result<FeedItem> {
        let days = days.unwrap_or(i64::from(self.data.shape.months) * 31);
        let window = Window::days_before(self.data.shape.now, days);
        let count = self.data.of_window(window).count();
        let nth = self.random.index(count);
        let plan = self.data.of_window(window).nth(nth).context("there are no items")?;
        self.feeds.item(self.data, plan)
    }
}

impl<'a> Asked for Calls<'a> {
    type Call = Call<'a>;

    /// A write needs nothing that the queries before it have not looked up.
    fn n_before(&self) -> usize {
        usize::from(self.shape < Shape::Post)
    }

    fn items(&self) -> u32 {
        match self.shape {
            Shape::Bulk => self.data.shape.bulk,
            Shape::Migrate => MIGRATED_AT_ONCE,
            _ => 1,
        }
    }

    async fn next(&mut self) -> anyhow::Result<Call<'a>> {
        let now = self.data.shape.now;
        Ok(match self.shape {
            Shape::Recent => Call::Page(self.newest(WEEK)),
            Shape::ProviderHigh => Call::Page(self.of_provider(true)),
            Shape::ProviderOther => Call::Page(self.of_provider(false)),
            Shape::Search => Call::Page(Ask { word: Some(RARE_WORD), ..self.newest(QUARTER) }),
            Shape::SearchScan => Call::Scan(Window::days_before(now, QUARTER)),
            Shape::AllProviders => Call::Page(Ask { limit: NEWEST, ..self.newest(MONTH) }),
            Shape::Analytics => Call::Counts(Window::days_before(now, YEAR)),
            Shape::Item => {
                let item = self.any_item(None)?;
                Call::Read(item.partition_key, item.id)
            }
            Shape::Post => {
                let item = self.new_items(1, now)?.pop().context("an item was made")?;
                Call::Put(Box::new(item))
            }
            Shape::Repost => {
                let mut item = self.any_item(Some(WEEK))?;
                item.title = format!("{}, edited {}", item.title, self.random.below(1_000_000));
                Call::Put(Box::new(item))
            }
            Shape::Bulk => Call::PutAll(self.new_items(self.data.shape.bulk, now)?),
            Shape::Migrate => {
                let items = self.new_items(MIGRATED_AT_ONCE, self.feeds.threshold())?;
                self.feeds.put_unmigrated(&items).await?;
                Call::Migrate
            }
        })
    }

    async fn ask(&self, call: &Call<'a>) -> anyhow::Result<()> {
        match call {
            Call::Page(ask) => drop(self.feeds.page(ask).await?),
            Call::Scan(window) => drop(self.feeds.looked_at(*window).await?),
            Call::Counts(window) => drop(self.feeds.counts(*window).await?),
            Call::Read(key, id) => drop(self.feeds.read(key, id).await?),
            Call::Put(item) => self.feeds.put(item).await?,
            Call::PutAll(items) => self.feeds.put_all(items).await?,
            Call::Migrate => {
                let migrated = self.feeds.migrate().await?;
                ensure!(migrated == MIGRATED_AT_ONCE as usize, "{migrated} items were migrated");
            }
        }
        Ok(())
    }

    fn take_requests(&self) -> Option<Vec<StoreRequest>> {
        Some(self.feeds.take_requests())
    }

    fn logical_partitions(&self, container: &str) -> usize {
        self.feeds.logical_partitions(container)
    }

    fn note(&mut self, requests: &[StoreRequest]) {
        if self.shape != Shape::Migrate {
            return;
        }
        self.n_noted += MIGRATED_AT_ONCE;
        for request in requests {
            let step = match request.kind {
                RequestKind::Query => "find",
                RequestKind::Create => "copy",
                RequestKind::Read => "verify",
                RequestKind::Replace => "mark",
                RequestKind::Delete => "expire",
                _ => "other",
            };
            let units = request.answer.as_ref().map_or(0.0, |answer| answer.request_units);
            *self.by_step.entry(step).or_default() += units;
        }
    }
}
