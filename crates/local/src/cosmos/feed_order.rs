//! The items of a container in the order of its change feed.
//!
//! The emulator copies and sorts all items of a container for each page of the feed, although a page has few. So this
//! module keeps their order. One page of all items begins it, and then it follows the writes: an item with a higher log
//! sequence number (LSN) goes to the end. A page costs as much as it has items.
//!
//! Why a page has what the emulator would answer: no write happens while it is made. Each write names its items before
//! it is carried out, and their places are read again before the next page. After a split the order begins anew.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Mutex,
};

use azure_core::http::{
    Method, Request,
    headers::{HeaderName, Headers},
};
use azure_data_cosmos::CosmosError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    account::Account,
    containers::ContainerInfo,
    emulator::Response,
    operation::{CHANGE_FEED, ContainerPath, PARTITION_KEY, WrittenItem},
    slices::{MAX_ITEM_COUNT, RANGE_ID},
};
use crate::lock;

const ITEM_LSN: HeaderName = HeaderName::from_static("x-ms-item-lsn");
const PARTITION_LSN: HeaderName = HeaderName::from_static("lsn");

/// The items that may be written between two pages. If there are more, the order begins anew: for the emulator, a read
/// of so many items takes as long as a page of all. The test reaches it.
const MAX_WRITTEN: usize = if cfg!(test) { 8 } else { 1_000 };

#[derive(Debug, Default)]
pub(super) struct FeedOrders(Mutex<HashMap<ContainerPath, FeedOrder>>);

#[derive(Debug, Default)]
pub(super) struct FeedOrder {
    partitions: BTreeMap<u32, PartitionOrder>,
    /// The physical partition of each item, and its number there.
    places: HashMap<FeedItemKey, (u32, u64)>,
    /// The items that were written since their places were read.
    written: HashSet<FeedItemKey>,
}

/// The order of the items of a physical partition.
#[derive(Debug, Default)]
pub(super) struct PartitionOrder {
    /// The LSN of the last write that the order has. An item with a higher one goes to the end.
    lsn: u64,
    /// The items by their numbers, which grow with their LSNs.
    items: BTreeMap<u64, OrderedItem>,
    /// The headers that the emulator's pages have since the last write.
    pub(super) headers: Option<Headers>,
}

#[derive(Debug)]
struct OrderedItem {
    key: FeedItemKey,
    /// The LSN, once it was read.
    lsn: Option<u64>,
}

/// The address of an item in its container. Items of one transaction have one LSN, and their ids order them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct FeedItemKey {
    /// The values of the partition key, as in the header of a request: a JSON array.
    partition_key: String,
    id: String,
}

/// A container, and the account that has it.
#[derive(Clone, Copy)]
pub(super) struct FeedSource<'a> {
    pub(super) account: &'a Account,
    pub(super) path: &'a ContainerPath,
    pub(super) container: &'a ContainerInfo,
}

impl FeedOrders {
    /// Notes the items of a write that is about to happen. Those of a write that fails do no harm.
    pub(super) fn learn(
        &self,
        container: &ContainerPath,
        written: &[WrittenItem],
        request: &Request,
    ) {
        let mut orders = lock(&self.0);
        let Some(order) = orders.get_mut(container) else { return };
        match request.headers().get_optional_str(&PARTITION_KEY) {
            Some(header) => {
                for item in written {
                    order.note(FeedItemKey::from_header(header, item.id.clone()));
                }
            }
            // The key is in the item, which is how no SDK writes.
            None => *order = FeedOrder::default(),
        }
    }

    /// Notes an item that is about to be deleted, because its time to live has ended.
    pub(super) fn expires(&self, container: &ContainerPath, partition_key: &str, id: &str) {
        if let Some(order) = lock(&self.0).get_mut(container) {
            order.note(FeedItemKey::from_header(partition_key, id.to_owned()));
        }
    }

    /// Takes the order of a container out; an empty one if its feed was not read yet. The caller must keep out
    /// writes until it has put the order back with [`FeedOrders::keep`].
    pub(super) fn take(&self, container: &ContainerPath) -> FeedOrder {
        lock(&self.0).remove(container).unwrap_or_default()
    }

    /// Puts the order of a container back. One that is lost begins anew.
    pub(super) fn keep(&self, container: &ContainerPath, order: FeedOrder) {
        lock(&self.0).insert(container.clone(), order);
    }

    pub(super) fn forget(&self, gone: impl Fn(&ContainerPath) -> bool) {
        lock(&self.0).retain(|container, _| !gone(container));
    }
}

impl FeedOrder {
    fn note(&mut self, written: FeedItemKey) {
        self.written.insert(written);
        if self.written.len() > MAX_WRITTEN {
            *self = Self::default();
        }
    }

    /// Reads the places of the items that were written since the last time. Returns false if the account cannot be
    /// read now.
    pub(super) async fn follow(&mut self, source: FeedSource<'_>) -> Result<bool, CosmosError> {
        let mut partitions = source.account.backend.partitions(source.path);
        partitions.sort_unstable();
        if !self.partitions.keys().eq(&partitions) {
            return self.begin(source, partitions).await;
        }
        let written = std::mem::take(&mut self.written);
        if !written.is_empty() {
            for order in self.partitions.values_mut() {
                order.headers = None;
            }
        }
        let mut placed = Vec::new();
        for key in written {
            let response = source.read(&key).await?;
            let partition = number_in(&response, &RANGE_ID).and_then(|id| u32::try_from(id).ok());
            match (response.status, lsn(&response), partition) {
                (200, Some(lsn), Some(partition)) => {
                    // The write of any other item has failed.
                    if self.partitions.get(&partition).is_none_or(|order| lsn > order.lsn) {
                        self.remove(&key);
                        placed.push((lsn, key, partition));
                    }
                }
                (404, ..) => self.remove(&key),
                // Its partition is about to split, and answers no page either.
                _ => {
                    self.written.insert(key);
                }
            }
        }
        placed.sort_unstable();
        for (lsn, key, partition) in placed {
            let order = self.append(partition, key, Some(lsn));
            order.lsn = lsn;
        }
        Ok(true)
    }

    async fn begin(
        &mut self,
        source: FeedSource<'_>,
        partitions: Vec<u32>,
    ) -> Result<bool, CosmosError> {
        *self = Self::default();
        for partition in partitions {
            let Some((lsn, keys)) = source.keys(partition).await? else { return Ok(false) };
            self.partitions.insert(partition, PartitionOrder { lsn, ..PartitionOrder::default() });
            for key in keys {
                self.append(partition, key, None);
            }
        }
        Ok(true)
    }

    fn append(
        &mut self,
        partition: u32,
        key: FeedItemKey,
        lsn: Option<u64>,
    ) -> &mut PartitionOrder {
        let order = self.partitions.entry(partition).or_default();
        let number = order.items.last_key_value().map_or(0, |(last, _)| last + 1);
        self.places.insert(key.clone(), (partition, number));
        order.items.insert(number, OrderedItem { key, lsn });
        order
    }

    fn remove(&mut self, key: &FeedItemKey) {
        if let Some((partition, number)) = self.places.remove(key)
            && let Some(order) = self.partitions.get_mut(&partition)
        {
            order.items.remove(&number);
        }
    }

    pub(super) fn partition(&mut self, id: u32) -> Option<&mut PartitionOrder> {
        self.partitions.get_mut(&id)
    }
}

impl PartitionOrder {
    /// Reads the items with higher LSNs, in their order, until `take` returns false. It gets the LSN of each and its
    /// text. Returns false if the partition cannot be read now.
    pub(super) async fn read(
        &mut self,
        source: FeedSource<'_>,
        behind: u64,
        mut take: impl FnMut(u64, &[u8]) -> Result<bool, CosmosError>,
    ) -> Result<bool, CosmosError> {
        let Some(first) = self.first(source, behind).await? else { return Ok(false) };
        for item in self.items.range_mut(first..).map(|(_, item)| item) {
            let response = source.read(&item.key).await?;
            let (200, Some(lsn)) = (response.status, lsn(&response)) else { return Ok(false) };
            item.lsn = Some(lsn);
            if !take(lsn, &response.body)? {
                break;
            }
        }
        Ok(true)
    }

    /// Returns the number from which on the items have higher LSNs; `None` if the partition cannot be read now.
    async fn first(
        &mut self,
        source: FeedSource<'_>,
        behind: u64,
    ) -> Result<Option<u64>, CosmosError> {
        let mut low = 0;
        let mut high = self.items.last_key_value().map_or(0, |(last, _)| last + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let Some((&number, item)) = self.items.range_mut(middle..high).next() else {
                high = middle;
                continue;
            };
            if item.lsn.is_none() {
                item.lsn = lsn(&source.read(&item.key).await?);
            }
            match item.lsn {
                Some(lsn) if lsn > behind => high = middle,
                Some(_) => low = number + 1,
                None => return Ok(None),
            }
        }
        Ok(Some(low))
    }
}

impl FeedSource<'_> {
    /// Returns the LSN of an item; `None` if it is there no more.
    pub(super) async fn lsn(self, item: &Value) -> Option<u64> {
        lsn(&self.read(&self.key(item)?).await.ok()?)
    }

    /// Returns the LSN of a physical partition, and its items in the order of its feed; `None` if it cannot be read
    /// now.
    async fn keys(self, partition: u32) -> Result<Option<(u64, Vec<FeedItemKey>)>, CosmosError> {
        #[derive(Default, Deserialize)]
        struct AllItems {
            #[serde(rename = "Documents")]
            documents: Vec<Value>,
        }
        let ContainerPath { database, container } = self.path;
        let path = ["dbs", database, "colls", container, "docs"];
        let mut request = self.account.request(Method::Get, &path);
        request.insert_header(CHANGE_FEED, "Incremental feed");
        request.insert_header(RANGE_ID, partition.to_string());
        request.insert_header(MAX_ITEM_COUNT, "-1");
        let response = self.account.send(&request).await?;
        let all: AllItems = match response.status {
            200 => serde_json::from_slice(&response.body).unwrap_or_default(),
            304 => AllItems::default(),
            _ => return Ok(None),
        };
        let keys = all.documents.iter().filter_map(|item| self.key(item)).collect();
        Ok(number_in(&response, &PARTITION_LSN).map(|lsn| (lsn, keys)))
    }

    async fn read(self, key: &FeedItemKey) -> Result<Response, CosmosError> {
        let mut read = self.account.request(Method::Get, &self.path.item(&key.id));
        read.insert_header(PARTITION_KEY, key.partition_key.clone());
        self.account.send(&read).await
    }

    fn key(self, item: &Value) -> Option<FeedItemKey> {
        let value = |path: &String| item.pointer(path).cloned().unwrap_or_else(|| json!({}));
        let values = self.container.partition_key.paths.iter().map(value).collect();
        Some(FeedItemKey::new(values, item["id"].as_str()?.to_owned()))
    }
}

impl FeedItemKey {
    fn from_header(partition_key: &str, id: String) -> Self {
        // A malformed key is that of no item.
        Self::new(serde_json::from_str(partition_key).unwrap_or_default(), id)
    }

    /// Creates the one key of an item. Clients write a number in several ways: `1` and `1.0`.
    fn new(mut values: Vec<Value>, id: String) -> Self {
        for value in &mut values {
            if let Some(number) = value.as_f64() {
                *value = json!(number);
            }
        }
        Self { partition_key: Value::from(values).to_string(), id }
    }
}

fn lsn(item: &Response) -> Option<u64> {
    number_in(item, &ITEM_LSN)
}

fn number_in(response: &Response, header: &HeaderName) -> Option<u64> {
    response.headers.get_optional_str(header)?.parse().ok()
}

#[cfg(test)]
mod tests;
