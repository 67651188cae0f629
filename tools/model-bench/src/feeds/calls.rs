//! The requests of each shape, and their items: chosen at random, and the same for all architectures.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use tributary_local::{
    chaos::Random,
    cosmos::{RequestKind, StoreRequest},
};

use super::{
    TimeWindow,
    data::{DataSet, FeedItem, RARE_WORD},
    router::{Ask, Feeds},
    shape::RequestShape,
    writes::MIGRATED_AT_ONCE,
};
use crate::measure::Asked;

/// Items of a page.
pub(super) const PAGE_ITEMS: u32 = 20;
/// The items that "all providers" reads, five pages. The guide reads by 100.
const NEWEST_ITEMS: u32 = 100;

/// The days of the windows.
pub(super) const WEEK_DAYS: i64 = 7;
pub(super) const MONTH_DAYS: i64 = 30;
pub(super) const QUARTER_DAYS: i64 = 92;
pub(super) const YEAR_DAYS: i64 = 365;

/// One shape of requests to one architecture.
pub(super) struct Calls<'a> {
    shape: RequestShape,
    feeds: &'a Feeds,
    data: &'a DataSet,
    random: Random,
    /// The number of created items that are not in the data set.
    made: usize,
    /// Request units of each step of the migration, in all its runs.
    pub(super) by_step: BTreeMap<&'static str, f64>,
    /// The number of items of these runs.
    pub(super) n_noted: u32,
}

/// A request with its subjects.
pub(super) enum FeedCall<'a> {
    Page(Ask<'a>),
    Scan(TimeWindow),
    Counts(TimeWindow),
    Read(String, String),
    Put(Box<FeedItem>),
    PutAll(Vec<FeedItem>),
    Migrate,
}

impl<'a> Calls<'a> {
    pub(super) fn new(shape: RequestShape, feeds: &'a Feeds, data: &'a DataSet) -> Self {
        let random = Random::stream(data.shape.seed, 100 + shape as u64);
        // Each shape has its own numbers, so that no item is created twice.
        let made = shape as usize * 10_000_000;
        Self { shape, feeds, data, random, made, by_step: BTreeMap::new(), n_noted: 0 }
    }

    /// Returns new items of the ten minutes before a moment.
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
        let window = TimeWindow::days_before(self.data.shape.now, days);
        Ask { window, provider: None, word: None, limit: PAGE_ITEMS, page_size: PAGE_ITEMS }
    }

    fn of_provider(&mut self, has_high_volume: bool) -> Ask<'a> {
        let providers = self.data.providers(has_high_volume);
        let provider = providers.start + self.random.index(providers.len());
        Ask { provider: Some(self.data.provider(provider)), ..self.newest(MONTH_DAYS) }
    }

    /// Returns any item of the last days, or of all if there are none.
    fn any_item(&mut self, days: Option<i64>) -> anyhow::Result<FeedItem> {
        let days = days.unwrap_or(i64::from(self.data.shape.months) * 31);
        let window = TimeWindow::days_before(self.data.shape.now, days);
        let count = self.data.of_window(window).count();
        let nth = self.random.index(count);
        let plan = self.data.of_window(window).nth(nth).context("there are no items")?;
        self.feeds.item(self.data, plan)
    }
}

impl<'a> Asked for Calls<'a> {
    type Call = FeedCall<'a>;

    /// A write needs only the lookups of the queries before it.
    fn n_before(&self) -> usize {
        usize::from(self.shape < RequestShape::Post)
    }

    fn items(&self) -> u32 {
        match self.shape {
            RequestShape::Bulk => self.data.shape.bulk,
            RequestShape::Migrate => MIGRATED_AT_ONCE,
            _ => 1,
        }
    }

    async fn next(&mut self) -> anyhow::Result<FeedCall<'a>> {
        let now = self.data.shape.now;
        Ok(match self.shape {
            RequestShape::Recent => FeedCall::Page(self.newest(WEEK_DAYS)),
            RequestShape::ProviderHigh => FeedCall::Page(self.of_provider(true)),
            RequestShape::ProviderOther => FeedCall::Page(self.of_provider(false)),
            RequestShape::Search => {
                FeedCall::Page(Ask { word: Some(RARE_WORD), ..self.newest(QUARTER_DAYS) })
            }
            RequestShape::SearchScan => FeedCall::Scan(TimeWindow::days_before(now, QUARTER_DAYS)),
            RequestShape::AllProviders => {
                FeedCall::Page(Ask { limit: NEWEST_ITEMS, ..self.newest(MONTH_DAYS) })
            }
            RequestShape::Analytics => FeedCall::Counts(TimeWindow::days_before(now, YEAR_DAYS)),
            RequestShape::Item => {
                let item = self.any_item(None)?;
                FeedCall::Read(item.partition_key, item.id)
            }
            RequestShape::Post => {
                let item = self.new_items(1, now)?.pop().context("an item was made")?;
                FeedCall::Put(Box::new(item))
            }
            RequestShape::Repost => {
                let mut item = self.any_item(Some(WEEK_DAYS))?;
                item.title = format!("{}, edited {}", item.title, self.random.below(1_000_000));
                FeedCall::Put(Box::new(item))
            }
            RequestShape::Bulk => FeedCall::PutAll(self.new_items(self.data.shape.bulk, now)?),
            RequestShape::Migrate => {
                let items = self.new_items(MIGRATED_AT_ONCE, self.feeds.threshold())?;
                self.feeds.put_unmigrated(&items).await?;
                FeedCall::Migrate
            }
        })
    }

    async fn ask(&self, call: &FeedCall<'a>) -> anyhow::Result<()> {
        match call {
            FeedCall::Page(ask) => drop(self.feeds.page(ask).await?),
            FeedCall::Scan(window) => drop(self.feeds.looked_at(*window).await?),
            FeedCall::Counts(window) => drop(self.feeds.counts(*window).await?),
            FeedCall::Read(key, id) => drop(self.feeds.read(key, id).await?),
            FeedCall::Put(item) => self.feeds.put(item).await?,
            FeedCall::PutAll(items) => self.feeds.put_all(items).await?,
            FeedCall::Migrate => {
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
        if self.shape != RequestShape::Migrate {
            return;
        }
        self.n_noted += MIGRATED_AT_ONCE;
        for request in requests {
            let step = match request.kind {
                RequestKind::Query => "find",
                RequestKind::Create => "copy",
                RequestKind::Read => "verify",
                RequestKind::Replace => "flag",
                RequestKind::Delete => "expire",
                _ => "other",
            };
            let units = request.answer.as_ref().map_or(0.0, |answer| answer.request_units);
            *self.by_step.entry(step).or_default() += units;
        }
    }
}
