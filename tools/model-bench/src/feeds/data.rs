//! The data set: items of some providers, evenly over the months before a moment. The same seed always
//! gives the same data; texts are generated on demand.

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tributary_functions::values::Timestamp;
use tributary_local::chaos::Random;
use uuid::Uuid;

use super::{DAY_SECONDS, TimeWindow, keys::Provider};
use crate::text::TextPool;

/// The guide's providers of high volume. They publish half of all items.
const HIGH_VOLUME: [&str; 5] = ["reuters", "ap", "bbc", "cnn", "bloomberg"];
const SHARE_OF_HIGH_VOLUME: f64 = 0.5;

/// A word that no other text has, for searches, and the number of items of 92 days that have it: fewer
/// than a page, so that every architecture has to look at all items of the range.
pub(super) const RARE_WORD: &str = "solstice";
const RARE_ITEMS: usize = 12;

/// 365.25 days are twelve months.
const SECONDS_OF_A_MONTH: i64 = 2_629_800;

/// The size of a data set.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeedsShape {
    pub(super) items: usize,
    pub(super) months: u32,
    pub(super) providers: u32,
    pub(super) seed: u64,
    /// The end of the months, in seconds since 1970.
    pub(super) now: i64,
    /// Items of a bulk request.
    pub(super) bulk: u32,
}

/// An item without its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemPlan {
    /// Its number, the seed of all its random values.
    pub(super) number: usize,
    /// The index of its provider.
    pub(super) provider: usize,
    /// The time of its publication, in seconds since 1970.
    pub(super) published: i64,
}

/// An item in its stored form, without the store's own properties.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FeedItem {
    pub(super) id: String,
    pub(super) partition_key: String,
    feed_provider_id: String,
    pub(super) title: String,
    content: String,
    pub(super) published_date: Timestamp,
    crawled_date: Timestamp,
    source_url: String,
    tags: Vec<String>,
    metadata: Value,
    /// Flags of the migration, in the hot container only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) migrated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ttl: Option<i64>,
}

/// Providers and items.
#[derive(Debug)]
pub(super) struct DataSet {
    providers: Vec<String>,
    /// Oldest first.
    pub(super) items: Vec<ItemPlan>,
    pub(super) shape: FeedsShape,
    /// The distance between two items with the rare word.
    rare: usize,
    text: TextPool,
}

impl DataSet {
    /// Generates a data set.
    pub(super) fn generate(shape: FeedsShape) -> anyhow::Result<Self> {
        ensure!(shape.providers as usize > HIGH_VOLUME.len(), "there are too few providers");
        let others = HIGH_VOLUME.len()..shape.providers as usize;
        let others = others.map(|n| format!("provider-{n:02}"));
        let providers = HIGH_VOLUME.iter().map(|&id| id.to_owned()).chain(others).collect();

        let count = i64::try_from(shape.items)?;
        let span = i64::from(shape.months) * SECONDS_OF_A_MONTH;
        let step = span / count.max(1);
        ensure!(step > 0, "there are more items than seconds");
        let mut random = Random::stream(shape.seed, 0);
        let mut items = Vec::with_capacity(shape.items);
        for number in 0..shape.items {
            let slot = i64::try_from(number)?;
            let within = i64::try_from(random.below(step.unsigned_abs()))?;
            items.push(ItemPlan {
                number,
                provider: any_provider(&mut random, shape.providers as usize),
                published: shape.now - span + slot * step + within,
            });
        }
        let in_range = usize::try_from(92 * DAY_SECONDS / step)?;
        let text = TextPool::new(Random::stream(shape.seed, 1));
        Ok(Self { providers, items, shape, rare: in_range.div_ceil(RARE_ITEMS).max(1), text })
    }

    pub(super) fn provider(&self, index: usize) -> Provider<'_> {
        let id = self.providers.get(index).map_or("", String::as_str);
        Provider { id, has_high_volume: index < HIGH_VOLUME.len() }
    }

    /// Returns the indexes of the providers of high volume, or of the others.
    pub(super) fn providers(&self, of_high_volume: bool) -> std::ops::Range<usize> {
        if of_high_volume { 0..HIGH_VOLUME.len() } else { HIGH_VOLUME.len()..self.providers.len() }
    }

    /// Returns the items of a window, newest first.
    pub(super) fn of_window(&self, window: TimeWindow) -> impl Iterator<Item = &ItemPlan> {
        let start = self.items.partition_point(|item| item.published < window.from);
        let end = self.items.partition_point(|item| item.published < window.to);
        self.items.get(start..end).unwrap_or_default().iter().rev()
    }

    /// Returns the plan of one more item, number `n` of those that are not in the data set.
    pub(super) fn another(&self, n: usize, published: i64) -> ItemPlan {
        let number = self.items.len() + n;
        let mut random = self.random_of(number);
        let provider = any_provider(&mut random, self.providers.len());
        ItemPlan { number, provider, published }
    }

    /// Returns the id of an item, derived from its provider and source.
    pub(super) fn id_of(&self, plan: &ItemPlan) -> String {
        let provider = self.provider(plan.provider).id;
        let name = format!("{provider}\n{}", source(provider, plan.number));
        Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string()
    }

    /// Returns true if an item has the rare word.
    pub(super) fn has_rare_word(&self, plan: &ItemPlan) -> bool {
        plan.number < self.items.len() && plan.number.is_multiple_of(self.rare)
    }

    /// Returns an item with its texts: about 1.5 KB of content, 2.3 KB in all.
    pub(super) fn item(&self, plan: &ItemPlan, partition_key: String) -> anyhow::Result<FeedItem> {
        let provider = self.provider(plan.provider).id;
        let mut random = self.random_of(plan.number).fork();
        let mut content = self.text.cut(&mut random, 1_200, 1_800);
        if self.has_rare_word(plan) {
            content.push(' ');
            content.push_str(RARE_WORD);
        }
        let tags = (0..3).map(|_| format!("topic-{:02}", random.below(40))).collect();
        let time = |seconds| Timestamp::from_unix_seconds(seconds).context("no such moment");
        Ok(FeedItem {
            id: self.id_of(plan),
            partition_key,
            feed_provider_id: provider.to_owned(),
            title: self.text.cut(&mut random, 40, 80),
            content,
            published_date: time(plan.published)?,
            crawled_date: time(plan.published + 600)?,
            source_url: source(provider, plan.number),
            tags,
            metadata: json!({
                "language": "en",
                "author": format!("author-{:03}", random.below(200)),
                "rawData": {
                    "guid": format!("{provider}:{}", plan.number),
                    "summary": self.text.cut(&mut random, 150, 250),
                },
            }),
            migrated: None,
            ttl: None,
        })
    }

    fn random_of(&self, number: usize) -> Random {
        Random::stream(self.shape.seed, 1_000 + number as u64)
    }
}

fn source(provider: &str, number: usize) -> String {
    format!("https://news.{provider}.example/articles/2026/{number:07}/a-title-as-urls-have-it")
}

fn any_provider(random: &mut Random, count: usize) -> usize {
    if random.chance(SHARE_OF_HIGH_VOLUME) {
        random.index(HIGH_VOLUME.len())
    } else {
        HIGH_VOLUME.len() + random.index(count.saturating_sub(HIGH_VOLUME.len()))
    }
}
