//! A random sample of a live container, within a bound of request units.
//!
//! The sample is read in portions. A portion is a random part of the container with a known share: the keys in a
//! window of hashes, or the items whose ids end in certain characters. It is read to its end and kept, or dropped
//! whole. So:
//!
//! 1. A key is whole or missing: all its items are in one window. With half of its items a key would look
//!    half as large, and the advice would be wrong.
//! 2. A portion may cost half of the remaining request units. A dearer portion is dropped, and the rest pays for
//!    others. So the largest keys may be missing, and a sample of small keys says nothing about them: a key of a
//!    dropped portion that has more items than each key of the sample is in the result, with the number of its
//!    items that were read.
//! 3. A page is requested while twice the dearest page so far is left, and its size is such that it takes an
//!    eighth of that; the first has one item. So the bound holds unless an item is far larger than all before it.
//! 4. The share of the next portion follows from the cost of the last. The hashes and the ends of ids do not
//!    depend on the items that were read, so neither do the drawn keys and items.
//!
//! The service may answer a request for a window with a whole physical partition, as older SDKs did. So the hash
//! of each item is computed, and an item outside the window ends the sample.

use std::{
    collections::{HashMap, HashSet},
    io,
    time::Duration,
};

use anyhow::{Context, bail};
use azure_data_cosmos::{CosmosError, Query, feed::FeedRange};
use futures::TryStreamExt;
use serde_json::{Value, value::RawValue};
use twox_hash::XxHash64;

use super::{
    endings::{EndingSearch, IdEndings, MIN_ENDING_ITEMS, SearchStep},
    scan::{LiveContainer, MAX_PAGE_ITEMS, charge, everything, query_of},
    windows::{HashWindows, has_hashes, hash},
};
use crate::sample::MAX_ITEM_BYTES;

/// The smallest bound: that of a few pages without items.
pub const MIN_REQUEST_UNITS: f64 = 20.0;

/// The request units of a page without items, and a little less.
const QUERY_REQUEST_UNITS: f64 = 2.0;

/// The items of a page before the price of an item is known.
const FIRST_PAGE_ITEMS: u32 = 1;

/// The divisor of the remaining request units for a portion, about, and for a page at most.
const PORTION_DIVISOR: f64 = 8.0;

/// The divisor of the bound for the smallest rest with which the sample continues.
const MIN_LEFT_DIVISOR: f64 = 20.0;

/// The portions of a sample by the ends of ids.
const ENDING_PORTIONS: usize = 4;

/// Attempts of a portion that the service throttles, after those of the SDK, and the first pause.
const MAX_ATTEMPTS: u32 = 7;
const FIRST_RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The unit that is drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawUnit {
    /// Keys, each with all its items. Of a hierarchical key, values of its first level.
    Keys,
    /// Single items.
    Items,
}

/// The settings of a draw.
#[derive(Clone, Copy, Debug)]
pub struct DrawSettings {
    /// The unit.
    pub unit: DrawUnit,
    /// The most request units of the sample.
    pub request_units: f64,
    /// The seed. The same seed draws the same keys or items.
    pub seed: u64,
}

/// A step of writing a sample.
#[derive(Clone, Copy, Debug)]
pub enum SampleStep<'a> {
    /// An item of a portion.
    Item(&'a Value),
    /// The end of a portion that belongs to the sample.
    Keep,
    /// The end of a portion that does not.
    Drop,
}

/// The sample that was drawn.
#[derive(Clone, Debug, Default)]
pub struct DrawnSample {
    /// Items.
    pub items: u64,
    /// Keys of the container among them.
    pub keys: u64,
    /// The share of the container: of all hashes, or of all ends of ids.
    pub share: f64,
    /// True when these are all items of the container.
    pub is_complete: bool,
    /// Request units that were charged, those of dropped portions included.
    pub request_units: f64,
    /// Requests to the store, the SDK's own retries included.
    pub requests: u64,
    /// The dropped portions, where they have a larger key than the sample.
    pub left_out: Option<DroppedPortions>,
    /// Items that cannot be read or are larger than an item may be, without those of dropped portions.
    pub unreadable: u64,
}

/// Portions that were dropped.
#[derive(Clone, Debug)]
pub struct DroppedPortions {
    /// Their items, at least: those that were read.
    pub items: u64,
    /// The largest key among them as a JSON array, and its items, at least.
    pub largest: (String, u64),
}

/// A portion that was read.
#[derive(Debug, Default)]
struct SamplePortion {
    items: u64,
    unreadable: u64,
    request_units: f64,
    keys: HashMap<String, u64>,
    is_whole: bool,
}

/// The most that a portion may read.
#[derive(Clone, Copy, Debug)]
struct PortionCap {
    request_units: f64,
    items: u64,
}

/// A sample while it is drawn.
struct DrawRun<'a, W> {
    container: &'a LiveContainer,
    draw: DrawSettings,
    drawn: DrawnSample,
    keys: HashSet<u64>,
    /// The items of the largest key of a portion that was kept.
    largest: u64,
    dearest_page: f64,
    dearest_item: f64,
    /// The items so far, and their costs.
    read: (f64, f64),
    write: W,
}

impl DrawnSample {
    /// Returns the items of the container, estimated by the share.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate of a number of items"
    )]
    pub fn items_in_container(&self) -> u64 {
        if self.is_complete {
            return self.items;
        }
        ((self.items as f64 / self.share.max(f64::MIN_POSITIVE)) as u64).max(self.items)
    }
}

impl LiveContainer {
    /// Draws a sample, with low priority where the account has priorities. `write` takes each item, after each
    /// portion the step that keeps or drops it, and the sample so far.
    pub async fn draw(
        &self,
        draw: DrawSettings,
        write: impl FnMut(SampleStep<'_>, &DrawnSample) -> io::Result<()>,
    ) -> anyhow::Result<DrawnSample> {
        let drawn = DrawnSample::default();
        let mut run = DrawRun {
            container: self,
            draw,
            drawn,
            keys: HashSet::new(),
            largest: 0,
            dearest_page: 0.0,
            dearest_item: 0.0,
            read: (0.0, 0.0),
            write,
        };
        if run.is_empty().await? {
            run.drawn.is_complete = true;
            return Ok(run.drawn);
        }
        match draw.unit {
            DrawUnit::Keys => run.keys().await?,
            DrawUnit::Items => run.items().await?,
        }
        Ok(run.drawn)
    }
}

impl<W: FnMut(SampleStep<'_>, &DrawnSample) -> io::Result<()>> DrawRun<'_, W> {
    /// Reads one item, which tells the price of others. Returns true for a container without items.
    async fn is_empty(&mut self) -> anyhow::Result<bool> {
        let cap = PortionCap { request_units: self.left(), items: 0 };
        let first = self.portion(&everything(), &FeedRange::full(), cap, &mut |_| ()).await?;
        (self.write)(SampleStep::Drop, &self.drawn)?;
        Ok(first.is_whole && first.items + first.unreadable == 0)
    }

    /// Draws whole keys.
    async fn keys(&mut self) -> anyhow::Result<()> {
        if !has_hashes(&self.container.definition) {
            bail!(
                "the container's key is of the first version of partition keys, whose hashes cannot be drawn from; \
                 draw items"
            );
        }
        let seed = self.draw.seed;
        let [high, low] = [0, 1].map(|half| u128::from(XxHash64::oneshot(seed, &[half])));
        let mut windows = HashWindows::new(high << 64 | low);
        while let Some(window) = windows.next()
            && self.goes_on()
        {
            let left = self.left();
            let cap = PortionCap { request_units: left / 2.0, items: u64::MAX };
            let range = window.range()?;
            let portion = self.portion(&everything(), &range, cap, &mut |_| ()).await;
            let portion = portion.map_err(with_advice)?;
            let is_kept = portion.is_whole;
            let factor = match (is_kept, portion.items) {
                (false, _) => 0.0,
                (true, 0) => f64::INFINITY,
                (true, _) => left / PORTION_DIVISOR / portion.request_units.max(1.0),
            };
            windows.pass(window, is_kept, factor);
            self.drawn.share = windows.share();
            self.settle(portion, is_kept)?;
        }
        self.drawn.is_complete = windows.have_all();
        let largest = self.largest;
        self.drawn.left_out.take_if(|left_out| left_out.largest.1 <= largest);
        Ok(())
    }

    /// Draws single items.
    async fn items(&mut self) -> anyhow::Result<()> {
        let mut endings = IdEndings::default();
        let mut see = |item: &Value| {
            item.get("id").and_then(Value::as_str).into_iter().for_each(|id| endings.see(id));
        };
        let cap = PortionCap {
            request_units: self.left() / PORTION_DIVISOR,
            items: MAX_PAGE_ITEMS.into(),
        };
        let first = self.portion(&everything(), &FeedRange::full(), cap, &mut see).await?;
        if first.is_whole {
            (self.drawn.share, self.drawn.is_complete) = (1.0, true);
            return Ok(self.settle(first, true)?);
        }
        (self.write)(SampleStep::Drop, &self.drawn)?;
        if !endings.tell() {
            bail!(
                "the ids end in the same character, so items cannot be drawn at random by the ends of their ids; \
                 draw keys"
            );
        }
        let (length, n) = self.search(&endings).await?;
        let some = endings.some(length, n, self.draw.seed);
        for endings_of_portion in some.chunks(some.len().div_ceil(ENDING_PORTIONS)) {
            if !self.goes_on() {
                break;
            }
            let cap = PortionCap { request_units: self.left(), items: u64::MAX };
            let query = query_of(endings_of_portion)?;
            let portion = self.portion(&query, &FeedRange::full(), cap, &mut |_| ()).await?;
            let is_kept = portion.is_whole;
            if is_kept {
                #[expect(clippy::cast_precision_loss, reason = "a share")]
                let share = endings_of_portion.len() as f64 / endings.count(length) as f64;
                self.drawn.share += share;
            }
            // A dropped portion has random items: only their number is missing.
            (self.write)(if is_kept { SampleStep::Keep } else { SampleStep::Drop }, &self.drawn)?;
            if !is_kept {
                break;
            }
            self.add(&portion);
        }
        Ok(())
    }

    /// Returns the length and the number of endings that find as many items as most of the remaining request units
    /// pay for.
    async fn search(&mut self, endings: &IdEndings) -> anyhow::Result<(u32, u64)> {
        let mut search = EndingSearch::new();
        loop {
            let wanted = self.affordable();
            if wanted < MIN_ENDING_ITEMS || !self.goes_on() {
                bail!("the request units are too few to draw items by the ends of their ids");
            }
            let query = query_of(&endings.some(search.length, 1, self.draw.seed))?;
            let cap = PortionCap { request_units: self.left() / 4.0, items: wanted };
            let found = self.portion(&query, &FeedRange::full(), cap, &mut |_| ()).await?;
            (self.write)(SampleStep::Drop, &self.drawn)?;
            let found = if found.is_whole { found.items } else { wanted };
            if let SearchStep::Take { length, endings: n } = search.next(endings, found, wanted) {
                return Ok((length, n));
            }
        }
    }

    /// Reads a portion as far as its cap allows. The service may throttle it, and split its physical partition.
    async fn portion(
        &mut self,
        query: &Query,
        range: &FeedRange,
        cap: PortionCap,
        see: &mut impl FnMut(&Value),
    ) -> anyhow::Result<SamplePortion> {
        let mut pause = FIRST_RETRY_PAUSE;
        let mut attempt = 1;
        loop {
            match self.attempt(query, range, cap, see).await {
                Err(error) if attempt < MAX_ATTEMPTS && is_throttled(&error) => {
                    (self.write)(SampleStep::Drop, &self.drawn)?;
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    async fn attempt(
        &mut self,
        query: &Query,
        range: &FeedRange,
        cap: PortionCap,
        see: &mut impl FnMut(&Value),
    ) -> anyhow::Result<SamplePortion> {
        let is_window = self.draw.unit == DrawUnit::Keys;
        let container = self.container;
        let mut portion = SamplePortion::default();
        let size = self.page();
        let pages = container.pages::<Box<RawValue>>(query.clone(), range.clone(), size);
        let mut pages = pages.await?;
        while let Some(page) = pages.try_next().await? {
            let cost = charge(&page);
            self.drawn.request_units += cost;
            self.drawn.requests += page.diagnostics().request_count() as u64;
            portion.request_units += cost;
            self.dearest_page = self.dearest_page.max(cost);
            if !page.items().is_empty() {
                #[expect(clippy::cast_precision_loss, reason = "at most 100")]
                let items = page.items().len() as f64;
                let of_items = (cost - QUERY_REQUEST_UNITS).max(0.0);
                self.dearest_item = self.dearest_item.max(of_items / items);
                self.read = (self.read.0 + items, self.read.1 + of_items);
            }
            for text in page.into_items() {
                let item = serde_json::from_str::<Value>(text.get());
                let Some(item) = item.ok().filter(|_| text.get().len() <= MAX_ITEM_BYTES) else {
                    portion.unreadable += 1;
                    continue;
                };
                if is_window
                    && let Some(hash) = hash(&item, &container.strategy, &container.definition)
                    && !(*range.min_inclusive() <= hash && hash < *range.max_exclusive())
                {
                    bail!(
                        "the service answers with keys beyond the range of hashes that was asked for, so it gives \
                         no whole keys; draw items"
                    );
                }
                see(&item);
                let key = container.strategy.key(&item).map(|key| key.to_string());
                *portion.keys.entry(key.unwrap_or_else(|_| "no key".to_owned())).or_default() += 1;
                portion.items += 1;
                (self.write)(SampleStep::Item(&item), &self.drawn)
                    .context("the item cannot be written")?;
            }
            if portion.items + portion.unreadable > cap.items || !self.pays(cap, &portion) {
                return Ok(portion);
            }
        }
        portion.is_whole = true;
        Ok(portion)
    }

    /// Keeps or drops a portion of keys.
    fn settle(&mut self, portion: SamplePortion, is_kept: bool) -> io::Result<()> {
        (self.write)(if is_kept { SampleStep::Keep } else { SampleStep::Drop }, &self.drawn)?;
        if is_kept {
            self.add(&portion);
            return Ok(());
        }
        let largest = portion.keys.into_iter().max_by_key(|(_, items)| *items);
        let largest = largest.unwrap_or_default();
        let before = self.drawn.left_out.take();
        let items = portion.items + before.as_ref().map_or(0, |before| before.items);
        let largest = match before {
            Some(before) if before.largest.1 >= largest.1 => before.largest,
            _ => largest,
        };
        self.drawn.left_out = Some(DroppedPortions { items, largest });
        Ok(())
    }

    fn add(&mut self, portion: &SamplePortion) {
        self.drawn.items += portion.items;
        self.drawn.unreadable += portion.unreadable;
        self.largest = portion.keys.values().copied().fold(self.largest, u64::max);
        self.keys.extend(portion.keys.keys().map(|key| XxHash64::oneshot(0, key.as_bytes())));
        self.drawn.keys = self.keys.len() as u64;
    }

    fn left(&self) -> f64 {
        self.draw.request_units - self.drawn.request_units
    }

    /// Returns true when another portion is worth its first page.
    fn goes_on(&self) -> bool {
        self.left() >= (2.0 * self.dearest_page).max(self.draw.request_units / MIN_LEFT_DIVISOR)
    }

    /// Returns true when the bound and the cap of the portion pay for its next page.
    fn pays(&self, cap: PortionCap, portion: &SamplePortion) -> bool {
        let is_within = portion.request_units + self.dearest_page <= cap.request_units;
        is_within && 2.0 * self.dearest_page <= self.left()
    }

    /// Returns the most items of the next page.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 100")]
    fn page(&self) -> u32 {
        if self.dearest_item == 0.0 {
            return FIRST_PAGE_ITEMS;
        }
        (self.left() / PORTION_DIVISOR / self.dearest_item).clamp(1.0, f64::from(MAX_PAGE_ITEMS))
            as u32
    }

    /// Returns the number of items that three quarters of the remaining request units pay for.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate of a number of items"
    )]
    fn affordable(&self) -> u64 {
        (self.left() * 0.75 * self.read.0 / self.read.1.max(1.0)) as u64
    }
}

/// Adds advice to the error of a service that has no queries over ranges of hashes.
fn with_advice(error: anyhow::Error) -> anyhow::Error {
    let status = error.downcast_ref::<CosmosError>().map(CosmosError::status);
    match status {
        Some(status) if status.is_bad_request() => {
            error.context("the service refuses a query over a range of hashes; draw items")
        }
        _ => error,
    }
}

/// Returns true for an answer that is to be retried later.
fn is_throttled(error: &anyhow::Error) -> bool {
    let status = error.downcast_ref::<CosmosError>().map(CosmosError::status);
    status.is_some_and(|status| status.is_throttled() || status.is_service_unavailable())
}
