//! A random sample of a live container, within a bound of request units.
//!
//! The store lists items in its own order: the first ones are those of a few keys. The ends of ids do not depend on that
//! order, and have each character about equally often. The store loads the items with certain endings alone, and each key
//! has the share in them that it has in the container.
//!
//! 1. A quarter of the request units tries to read the whole container. If that ends, the sample is the container.
//! 2. Otherwise these items tell the characters in which ids end. An ending is made longer or shorter until it finds many
//!    items that the rest of the request units pays for.
//! 3. Then those of further endings of this length are read, in a few portions. A portion that does not end is dropped:
//!    its share of the container is unknown.
//! 4. A page is requested while twice the dearest page so far is left, and takes an eighth of that; the first has one item.
//!    So the bound holds unless an item is far larger than all before it.

use std::{collections::BTreeSet, io};

use anyhow::{Context, bail};
use azure_data_cosmos::Query;
use futures::TryStreamExt;
use serde_json::Value;
use twox_hash::XxHash64;

use super::LiveContainer;
use crate::{
    sample::{MAX_ITEM_BYTES, SampleItem},
    words::{count, float},
};

pub(crate) const MIN_REQUEST_UNITS: f64 = 20.0;

/// The most items of a page. A page of items of 1 KB costs about 30 request units.
const MAX_PAGE_ITEMS: u32 = 100;

/// The request units of a page without items, and a little less.
const QUERY_REQUEST_UNITS: f64 = 2.0;

const PAGE_DIVISOR: f64 = 8.0;

/// The divisor of the remaining request units for an attempt to read all, and for an attempt of an ending.
const ATTEMPT_DIVISOR: f64 = 4.0;

/// The divisor of the bound for the smallest rest with which the sample continues.
const MIN_LEFT_DIVISOR: f64 = 20.0;

const FIRST_ENDING_LENGTH: u32 = 4;
const MAX_ENDING_LENGTH: u32 = 12;
const MAX_ENDINGS: u64 = 64;
const PORTIONS: usize = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct DrawnSample {
    pub(crate) items: u64,
    pub(crate) share: f64,
    pub(crate) is_complete: bool,
    pub(crate) request_units: f64,
    pub(crate) requests: u64,
    /// Items that cannot be read or are larger than an item may be, without those of dropped portions.
    pub(crate) unreadable: u64,
}

#[derive(Debug, Default)]
struct SamplePortion {
    items: Vec<SampleItem>,
    unreadable: u64,
    request_units: f64,
    is_whole: bool,
}

struct DrawRun<'a, K> {
    container: &'a LiveContainer,
    most_request_units: f64,
    seed: u64,
    drawn: DrawnSample,
    dearest_page: f64,
    dearest_item: f64,
    read: (f64, f64),
    keep: K,
}

impl DrawnSample {
    pub(crate) fn items_in_container(&self) -> u64 {
        if self.is_complete { self.items } else { count(float(self.items) / self.share) }
    }
}

impl LiveContainer {
    /// Passes the items of each portion to `keep`. The same seed draws the same items.
    pub(crate) async fn draw(
        &self,
        request_units: f64,
        seed: u64,
        keep: impl FnMut(Vec<SampleItem>, &DrawnSample) -> io::Result<()>,
    ) -> anyhow::Result<DrawnSample> {
        let mut run = DrawRun {
            container: self,
            most_request_units: request_units,
            seed,
            drawn: DrawnSample::default(),
            dearest_page: 0.0,
            dearest_item: 0.0,
            read: (0.0, 0.0),
            keep,
        };
        run.draw().await?;
        Ok(run.drawn)
    }
}

impl<K: FnMut(Vec<SampleItem>, &DrawnSample) -> io::Result<()>> DrawRun<'_, K> {
    async fn draw(&mut self) -> anyhow::Result<()> {
        let everything = || Query::from("SELECT * FROM c");
        // A page of one item tells the price of others.
        let mut start = self.portion(&everything(), self.left(), 0).await?;
        if !start.is_whole {
            let most = self.left() / ATTEMPT_DIVISOR;
            start = self.portion(&everything(), most, u64::MAX).await?;
        }
        if start.is_whole {
            (self.drawn.share, self.drawn.is_complete) = (1.0, true);
            return self.take(start);
        }
        let ids = start.items.iter().filter_map(|item| item.value.get("id")?.as_str());
        let letters: BTreeSet<char> = ids.filter_map(|id| id.chars().next_back()).collect();
        let letters: Vec<char> = letters.into_iter().collect();
        drop(start);
        if letters.len() < 2 {
            bail!(
                "the ids end in the same character, so items cannot be drawn at random by the ends of their ids; \
                 raise --max-request-units to read the whole container"
            );
        }
        let (length, first) = self.first_ending(&letters).await?;
        let n_endings = (letters.len() as u64).saturating_pow(length);
        let of_ending = (first.items.len() as u64).max(1);
        self.drawn.share = 1.0 / float(n_endings);
        self.take(first)?;
        let more = (self.affordable() / of_ending).min(MAX_ENDINGS).min(n_endings - 1);
        let more = endings(&letters, length, more + 1, self.seed).split_off(1);
        for endings in more.chunks(more.len().div_ceil(PORTIONS).max(1)) {
            if !self.goes_on() {
                break;
            }
            let portion = self.portion(&query_of(endings)?, self.left(), u64::MAX).await?;
            if !portion.is_whole {
                break;
            }
            self.drawn.share += float(endings.len() as u64) / float(n_endings);
            self.take(portion)?;
        }
        Ok(())
    }

    /// Returns the length of an ending that finds many items, but not more than the request units pay for, and these
    /// items.
    async fn first_ending(&mut self, letters: &[char]) -> anyhow::Result<(u32, SamplePortion)> {
        let mut length = FIRST_ENDING_LENGTH;
        let mut is_longer = false;
        while self.goes_on() && length <= MAX_ENDING_LENGTH {
            let query = query_of(&endings(letters, length, 1, self.seed))?;
            let portion = self.portion(&query, self.left() / ATTEMPT_DIVISOR, u64::MAX).await?;
            let of_shorter = portion.items.len() * letters.len();
            if !portion.is_whole {
                is_longer = true;
                length += 1;
            } else if is_longer || length == 1 || of_shorter as u64 > self.affordable() {
                return Ok((length, portion));
            } else {
                length -= 1;
            }
        }
        bail!("the request units are too few for a sample; raise --max-request-units")
    }

    async fn portion(
        &mut self,
        query: &Query,
        request_units: f64,
        items: u64,
    ) -> azure_data_cosmos::Result<SamplePortion> {
        let mut portion = SamplePortion::default();
        let mut pages = self.container.pages(query.clone(), self.page_items()).await?;
        while let Some(page) = pages.try_next().await? {
            let cost = page.diagnostics().total_request_charge().value();
            self.drawn.request_units += cost;
            self.drawn.requests += page.diagnostics().request_count() as u64;
            portion.request_units += cost;
            self.dearest_page = self.dearest_page.max(cost);
            if !page.items().is_empty() {
                let n = float(page.items().len() as u64);
                let of_items = (cost - QUERY_REQUEST_UNITS).max(0.0);
                self.dearest_item = self.dearest_item.max(of_items / n);
                self.read = (self.read.0 + n, self.read.1 + of_items);
            }
            for text in page.into_items() {
                let bytes = text.get().len();
                match serde_json::from_str::<Value>(text.get()) {
                    Ok(value) if bytes <= MAX_ITEM_BYTES => {
                        portion.items.push(SampleItem { value, bytes });
                    }
                    _ => portion.unreadable += 1,
                }
            }
            let is_within = portion.request_units + self.dearest_page <= request_units
                && 2.0 * self.dearest_page <= self.left();
            if !is_within || portion.items.len() as u64 + portion.unreadable > items {
                return Ok(portion);
            }
        }
        portion.is_whole = true;
        Ok(portion)
    }

    fn take(&mut self, portion: SamplePortion) -> anyhow::Result<()> {
        self.drawn.items += portion.items.len() as u64;
        self.drawn.unreadable += portion.unreadable;
        (self.keep)(portion.items, &self.drawn).context("the sample cannot be written")
    }

    fn left(&self) -> f64 {
        self.most_request_units - self.drawn.request_units
    }

    fn goes_on(&self) -> bool {
        self.left() >= (2.0 * self.dearest_page).max(self.most_request_units / MIN_LEFT_DIVISOR)
    }

    fn page_items(&self) -> u32 {
        if self.dearest_item == 0.0 {
            return 1;
        }
        let affordable = count((self.left() / PAGE_DIVISOR / self.dearest_item).floor());
        u32::try_from(affordable).unwrap_or(MAX_PAGE_ITEMS).clamp(1, MAX_PAGE_ITEMS)
    }

    fn affordable(&self) -> u64 {
        count(self.left() * 0.75 * self.read.0 / self.read.1.max(1.0))
    }
}

/// Returns `n` different endings of this length, the same for each seed. Fewer of them are the first of more.
fn endings(letters: &[char], length: u32, n: u64, seed: u64) -> Vec<String> {
    let mut endings: Vec<String> = Vec::new();
    for number in 0_u64.. {
        if endings.len() as u64 >= n {
            break;
        }
        let mut hash = XxHash64::oneshot(seed, &number.to_le_bytes());
        let mut ending = String::new();
        for _ in 0..length {
            let at = usize::try_from(hash % letters.len() as u64).unwrap_or_default();
            ending.push(letters[at]);
            hash /= letters.len() as u64;
        }
        if !endings.contains(&ending) {
            endings.push(ending);
        }
    }
    endings
}

fn query_of(endings: &[String]) -> azure_data_cosmos::Result<Query> {
    let conditions = (0..endings.len()).map(|n| format!("ENDSWITH(c.id, @e{n})"));
    let conditions = conditions.collect::<Vec<_>>().join(" OR ");
    let mut query = Query::from(format!("SELECT * FROM c WHERE {conditions}"));
    for (n, ending) in endings.iter().enumerate() {
        query = query.with_parameter(format!("@e{n}"), ending)?;
    }
    Ok(query)
}
