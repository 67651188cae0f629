//! The audit of the news: each item is where its location says, is live once, and does not expire.
//!
//! | file | content |
//! | --- | --- |
//! | `copies.rs` | the copies and the location of an item, read for a page of items at once |
//! | `divergences.rs` | their divergences, by a pure function |
//! | `repair.rs` | the guarded write that repairs each divergence |
//!
//! A location without an item is no divergence. The attempt that wrote the location has ended before
//! it wrote the item, and acknowledged nothing. The next post of the item creates the item.
//!
//! A page of a hundred items always costs four more queries: one for each container.
//! [`tributary_functions::audit`] has the rest: when a suspicion is a finding, and how a repair is checked.

mod copies;
mod divergences;
mod repair;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use quick_cache::sync::Cache;
use tributary_functions::{
    audit::{AuditedItem, CheckResults, Checks, FindingKind, RepairResult, Suspect, async_trait},
    prelude::*,
};

use self::{copies::ItemCopies, divergences::Divergence};
use super::{
    model::{KeyClass, ProviderId, Tier},
    moves::{CopyState, Location, NewsItem, StoredItem},
    progress::RECORDS_PARTITION,
    state::{News, PROVIDER_KEYS_ID, ProviderKeys},
};

const MAX_REMEMBERED_PROVIDERS: usize = 10_000;

pub struct NewsKinds;

impl NewsKinds {
    /// An item without a location: a post would create the item a second time.
    pub const LOCATION_MISSING: FindingKind = FindingKind::new("location-missing");
    /// An item in another place than its location names.
    pub const LOCATION_DIFFERS: FindingKind =
        FindingKind::new("location-differs").in_class_of(Self::LOCATION_MISSING);
    /// An unreadable item of `feeds_locations`. If a news item has this id, the repair writes the
    /// location anew.
    pub const LOCATION_UNREADABLE: FindingKind =
        FindingKind::new("location-unreadable").repaired_last();
    pub const ITEM_TWICE: FindingKind = FindingKind::new("item-twice");
    /// The only copy of an item, or of its newest version, with a time to live.
    pub const ITEM_EXPIRING: FindingKind = FindingKind::new("item-expiring");
    /// An item whose move to another place has not ended.
    pub const MOVE_PENDING: FindingKind = FindingKind::new("move-pending");
    /// A provider with items under a class of keys that lists do not read.
    pub const KEYS_MISSING: FindingKind = FindingKind::new("keys-missing");
    /// An item in a partition of another provider or published date. If it is one of two live
    /// copies, the other copy stays.
    pub const KEY_FOREIGN: FindingKind = FindingKind::new("key-foreign").repaired_last();
}

pub(super) fn audit(news: &News) -> Audit {
    let news = news.clone();
    Audit::new("AuditNews", "0 0 4 * * 0", move || NewsChecks::new(news.clone()))
}

type CopySlot = (&'static str, String, String);

/// The checks of the news. Its memory may be old. An old memory can only raise a suspicion, and a
/// suspect is checked again with `fresh` reads.
struct NewsChecks {
    news: News,
    page: Mutex<HashMap<String, Arc<ItemCopies>>>,
    /// The classes of keys that were checked; a missing class with the copy that raised the suspicion.
    checked_keys: Cache<(ProviderId, KeyClass), Option<CopySlot>>,
}

#[async_trait]
impl Checks for NewsChecks {
    fn containers(&self) -> Vec<(&Container, &'static str)> {
        let News { hot, warm, archive, locations, .. } = &self.news;
        [hot, warm, archive, locations].map(|container| (container, "partitionKey")).to_vec()
    }

    async fn read_page(&self, page: &[AuditedItem]) -> Result<(), StoreError> {
        let is_of_feeds = |item: &&AuditedItem| self.tier(item.container).is_some();
        let ids = page.iter().filter(is_of_feeds).map(|item| item.id.as_str());
        let known = ItemCopies::read(&self.news, ids).await?;
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    async fn check_item(&self, item: &AuditedItem, fresh: bool) -> CheckResults {
        let Some(tier) = self.tier(item.container) else {
            return Ok(check_location(item));
        };
        let stored = match item.parse() {
            Ok(NewsItem::FeedItem(stored)) => stored,
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
        Self { news, page: Mutex::default(), checked_keys: Cache::new(MAX_REMEMBERED_PROVIDERS) }
    }

    fn tier(&self, container: &str) -> Option<Tier> {
        let is_its_container = |tier: &Tier| self.news.container(*tier).id() == container;
        Tier::ALL.iter().copied().find(is_its_container)
    }

    /// Returns the copies and the location of an item: with `fresh`, their latest committed state.
    async fn copies(&self, id: &str, fresh: bool) -> Result<Arc<ItemCopies>, StoreError> {
        if fresh {
            let known = ItemCopies::read(&self.news.latest_committed(), [id]).await?;
            return Ok(known.into_values().next().unwrap_or_default());
        }
        let page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(page.get(id).cloned().unwrap_or_default())
    }

    async fn check_places(
        &self,
        tier: Tier,
        stored: &StoredItem,
        item: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        let copies = self.copies(&item.id, fresh).await?;
        let divergences = copies.divergences(tier, stored, self.news.now());
        let evidence = copies.evidence();
        let suspect = |divergence| {
            let lasting = "a copy that stays, or a colder one in this version";
            let (kind, expected, found) = match divergence {
                Divergence::Expiring => (NewsKinds::ITEM_EXPIRING, lasting, copies.in_words()),
                Divergence::Duplicate(_) => (NewsKinds::ITEM_TWICE, "one place", copies.in_words()),
                Divergence::MovePending(to) => {
                    (NewsKinds::MOVE_PENDING, "no departure", format!("a departure to {to}"))
                }
                Divergence::Location(found) => {
                    let place = format!("{} {}", tier.as_str(), item.partition_key);
                    let kind = match found {
                        Some(_) => NewsKinds::LOCATION_DIFFERS,
                        None => NewsKinds::LOCATION_MISSING,
                    };
                    let found = found.unwrap_or_else(|| "none".to_owned());
                    let at = (self.news.locations.id(), item.id.clone(), item.id.clone());
                    return item.suspect_at(kind, at, (place, found), evidence.clone());
                }
            };
            item.suspect(kind, (expected, found), evidence.clone())
        };
        Ok(divergences.into_iter().map(suspect).collect())
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
            return Ok(vec![item.suspect(NewsKinds::KEY_FOREIGN, words, &item.etag)]);
        };
        let provider = &public.feed_provider_id;
        let key = (provider.clone(), class);
        let own_slot = (item.container, item.partition_key.clone(), item.id.clone());
        match self.checked_keys.get(&key) {
            // The finding names one item for all items of its provider.
            Some(Some(other)) if other != own_slot => return Ok(Vec::new()),
            Some(None) if !fresh => return Ok(Vec::new()),
            _ => {}
        }
        let news = if fresh { self.news.latest_committed() } else { self.news.clone() };
        if news.key_classes(provider).await?.contains(&class) {
            self.checked_keys.insert(key, None);
            return Ok(Vec::new());
        }
        self.checked_keys.insert(key, Some(own_slot));
        let at = (news.locations.id(), provider.to_string(), PROVIDER_KEYS_ID.to_owned());
        let words = (format!("{class:?}, as its items have"), "none");
        Ok(vec![item.suspect_at(NewsKinds::KEYS_MISSING, at, words, format!("{class:?}"))])
    }
}

fn check_location(item: &AuditedItem) -> Vec<Suspect> {
    let parsed = match (item.partition_key.as_str(), item.id.as_str()) {
        (RECORDS_PARTITION, _) => Ok(()),
        (_, PROVIDER_KEYS_ID) => item.parse::<ProviderKeys>().map(drop),
        _ => item.parse::<Location>().map(drop),
    };
    let words = ("an item of feeds_locations", "something else");
    Vec::from_iter(
        parsed.is_err().then(|| item.suspect(NewsKinds::LOCATION_UNREADABLE, words, &item.etag)),
    )
}
