//! The audit of the news: each item is where its location says, is live once, and does not expire.
//!
//! | file | what it has |
//! | --- | --- |
//! | `known.rs` | the copies and the location of an item, read for a page of items at once |
//! | `judge.rs` | their divergences, by a pure function |
//! | `repair.rs` | the guarded write that repairs each divergence |
//!
//! A location whose item is in no container is no divergence. The attempt that wrote the location
//! ended there, and acknowledged nothing. The next post of the item creates the item.
//!
//! A page of a hundred items always costs four more queries: one for each container.
//! [`tributary_functions::audit`] has the rest: when a suspicion is a finding, and how a repair is checked.

mod judge;
mod known;
mod repair;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use quick_cache::sync::Cache;
use tributary_functions::{
    audit::{Audit, AuditedItem, Checks, FindingKind, RepairResult, Suspect},
    cosmos::{Container, StoreError},
    engines::{
        item_move::{Places, Tier as _},
        relocation::CopyState,
    },
};

use self::{judge::Wrong, known::Known};
use super::{
    model::{KeyClass, Location, NewsItem, ProviderId, StoredItem, Tier},
    progress::RECORDS,
    state::{KEYS, News, ProviderKeys},
};

/// The most providers that are remembered; some 200 bytes each.
const REMEMBERED: usize = 10_000;

/// The kinds of divergence that only the news have.
pub struct Kinds;

impl Kinds {
    /// An item without a location: a post would create the item a second time.
    pub const LOCATION_MISSING: FindingKind = FindingKind::new("location-missing");
    /// An item in another place than its location names.
    pub const LOCATION_DIFFERS: FindingKind =
        FindingKind::new("location-differs").in_class_of(Self::LOCATION_MISSING);
    /// An unreadable item of `feeds_locations`. If a news item has this id, the repair writes the
    /// location anew.
    pub const LOCATION_UNREADABLE: FindingKind =
        FindingKind::new("location-unreadable").repaired_last();
    /// An item that is live in two places.
    pub const ITEM_TWICE: FindingKind = FindingKind::new("item-twice");
    /// The only copy of an item, or of its newest version, with a time to live.
    pub const ITEM_EXPIRING: FindingKind = FindingKind::new("item-expiring");
    /// An item whose move to another place has not ended.
    pub const MOVE_PENDING: FindingKind = FindingKind::new("move-pending");
    /// A provider with items under a kind of key that lists do not read.
    pub const KEYS_MISSING: FindingKind = FindingKind::new("keys-missing");
    /// An item in a partition of another provider or published date. If it is one of two live
    /// copies, the other copy stays.
    pub const KEY_FOREIGN: FindingKind = FindingKind::new("key-foreign").repaired_last();
}

/// Returns the audit of the news.
pub(super) fn audit(news: &News) -> Audit {
    let news = news.clone();
    Audit::new("AuditNews", "0 0 4 * * 0", move || NewsChecks::new(news.clone()))
}

/// The place of a copy of an item: container, partition, id.
type CopyPlace = (&'static str, String, String);

/// The check of items. Its memory may be old. An old memory can only raise a suspicion, and a
/// suspect is checked again with `fresh` reads.
struct NewsChecks {
    news: News,
    /// The copies and locations of the items of the last page.
    page: Mutex<HashMap<String, Arc<Known>>>,
    /// The kinds of keys that were read, with the copy that raised the suspicion that one is
    /// missing.
    noted: Cache<(ProviderId, KeyClass), Option<CopyPlace>>,
}

impl Checks for NewsChecks {
    fn containers(&self) -> Vec<(&Container, &'static str)> {
        let News { hot, warm, archive, locations, .. } = &self.news;
        [hot, warm, archive, locations].map(|one| (one, "partitionKey")).to_vec()
    }

    async fn read_page(&self, page: &[AuditedItem]) -> Result<(), StoreError> {
        let is_of_feeds = |item: &&AuditedItem| self.tier(item.container).is_some();
        let ids = page.iter().filter(is_of_feeds).map(|item| item.id.as_str());
        let known = Known::read(&self.news, ids).await?;
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    async fn check_item(
        &self,
        item: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        let Some(tier) = self.tier(item.container) else {
            return Ok(check_location(item));
        };
        let stored = match item.parse() {
            Ok(NewsItem::Item(stored)) => stored,
            Ok(NewsItem::Vacated(_)) => return Ok(Vec::new()),
            Err(unreadable) => return Ok(unreadable),
        };
        let mut suspects = self.check_keys(&stored, item, fresh).await?;
        suspects.extend(self.check_places(tier, &stored, item, fresh).await?);
        Ok(suspects)
    }

    async fn repair(&self, suspect: &Suspect) -> RepairResult {
        repair::repair(self, suspect).await
    }
}

impl NewsChecks {
    fn new(news: News) -> Self {
        Self { news, page: Mutex::default(), noted: Cache::new(REMEMBERED) }
    }

    fn tier(&self, container: &str) -> Option<Tier> {
        let has_it = |tier: &Tier| self.news.container(*tier).id() == container;
        Tier::ALL.iter().copied().find(has_it)
    }

    /// Returns the copies and the location of an item: with `fresh`, their latest committed state.
    async fn known(&self, id: &str, fresh: bool) -> Result<Arc<Known>, StoreError> {
        if fresh {
            let known = Known::read(&self.news.latest_committed(), [id]).await?;
            return Ok(known.into_values().next().unwrap_or_default());
        }
        let page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(page.get(id).cloned().unwrap_or_default())
    }

    /// Compares the copies of an item and its location.
    async fn check_places(
        &self,
        tier: Tier,
        stored: &StoredItem,
        item: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        let known = self.known(&item.id, fresh).await?;
        let wrongs = known.judge(tier, stored, self.news.now());
        let evidence = known.evidence();
        let suspect = |wrong| {
            let is_kept = "a copy that stays, or a colder one in this version";
            let (kind, expected, found) = match wrong {
                Wrong::Expiring => (Kinds::ITEM_EXPIRING, is_kept.to_owned(), known.in_words()),
                Wrong::Twice(_) => (Kinds::ITEM_TWICE, "one place".to_owned(), known.in_words()),
                Wrong::MovePending(to) => {
                    let words = ("no departure".to_owned(), format!("a departure to {to}"));
                    (Kinds::MOVE_PENDING, words.0, words.1)
                }
                Wrong::Location(found) => {
                    let place = format!("{} {}", tier.as_str(), item.partition_key);
                    let kind = match found {
                        Some(_) => Kinds::LOCATION_DIFFERS,
                        None => Kinds::LOCATION_MISSING,
                    };
                    let found = found.unwrap_or_else(|| "none".to_owned());
                    let at = (self.news.locations.id(), item.id.clone(), item.id.clone());
                    return item.suspect_at(kind, at, (place, found), evidence.clone());
                }
            };
            item.suspect(kind, (expected, found), evidence.clone())
        };
        Ok(wrongs.into_iter().map(suspect).collect())
    }

    /// Checks that an item is in a partition that lists read.
    async fn check_keys(
        &self,
        stored: &StoredItem,
        item: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        if stored.state == CopyState::Carried {
            return Ok(Vec::new());
        }
        let public = &stored.public;
        let Some(class) = public.key_class() else {
            let expected = format!("a key of {} and its date", public.feed_provider_id);
            let words = (expected, public.partition_key.to_string());
            return Ok(vec![item.suspect(Kinds::KEY_FOREIGN, words, &item.etag)]);
        };
        let provider = &public.feed_provider_id;
        let key = (provider.clone(), class);
        let this = (item.container, item.partition_key.clone(), item.id.clone());
        match self.noted.get(&key) {
            // The finding names one item for all items of its provider.
            Some(Some(other)) if other != this => return Ok(Vec::new()),
            Some(None) if !fresh => return Ok(Vec::new()),
            _ => {}
        }
        let news = if fresh { self.news.latest_committed() } else { self.news.clone() };
        if news.classes(provider).await?.contains(&class) {
            self.noted.insert(key, None);
            return Ok(Vec::new());
        }
        self.noted.insert(key, Some(this));
        let at = (news.locations.id(), provider.to_string(), KEYS.to_owned());
        let words = (format!("{class:?}, as its items have"), "none");
        Ok(vec![item.suspect_at(Kinds::KEYS_MISSING, at, words, format!("{class:?}"))])
    }
}

/// Returns the suspicion that an item of `feeds_locations` is unreadable.
fn check_location(item: &AuditedItem) -> Vec<Suspect> {
    let parsed = match (item.partition_key.as_str(), item.id.as_str()) {
        (RECORDS, _) => Ok(()),
        (_, KEYS) => item.parse::<ProviderKeys>().map(drop),
        _ => item.parse::<Location>().map(drop),
    };
    let words = ("an item of feeds_locations", "something else");
    Vec::from_iter(
        parsed.is_err().then(|| item.suspect(Kinds::LOCATION_UNREADABLE, words, &item.etag)),
    )
}
