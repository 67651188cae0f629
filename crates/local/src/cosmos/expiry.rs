//! Time to live: an ordinary delete on the emulator removes each expired item.
//!
//! A scan of the containers for such items would cost hundreds of milliseconds a second with 100,000
//! items. So the expiry learns from the writes as they pass: an item with a time to live gets an entry
//! in a schedule, and a sweep looks only at the entries that are due. An entry is a hint: the sweep
//! reads the item, and deletes it only if it has expired and with the ETag that it read. So a write in
//! between keeps the item.
//!
//! The rules are the service's: an item's `ttl` counts only in a container that has `defaultTtl`; `-1`
//! means never; the time runs from the last write, `_ts`, in whole seconds.
//! Source: <https://learn.microsoft.com/azure/cosmos-db/time-to-live>.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use azure_core::http::headers::{HeaderValue, IF_MATCH};
use azure_core::http::{Method, Request};
use azure_data_cosmos::CosmosError;
use serde::Deserialize;
use serde_json::Value;

use super::operation::{ContainerPath, PARTITION_KEY, WrittenItem, header, lifetime};
use super::store::EndpointStore;
use crate::lock;

#[derive(Debug, Default)]
pub(super) struct Expiry {
    schedule: Mutex<ExpirySchedule>,
}

/// One entry for each item, in two orders: by time and by item.
#[derive(Debug, Default)]
struct ExpirySchedule {
    by_time: BTreeSet<(u64, ItemKey)>,
    by_item: HashMap<ItemKey, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct ItemKey {
    container: ContainerPath,
    /// The header as the client wrote it: a JSON array.
    partition_key: String,
    id: String,
}

impl Expiry {
    pub(super) fn forget(&self, gone: impl Fn(&ContainerPath) -> bool) {
        let mut schedule = lock(&self.schedule);
        schedule.by_item.retain(|item, _| !gone(&item.container));
        schedule.by_time.retain(|(_, item)| !gone(&item.container));
    }

    /// Adds an entry for each item of a write that is about to happen. The entry of a write that fails
    /// does no harm.
    pub(super) fn learn(
        &self,
        container: &ContainerPath,
        written: &[WrittenItem],
        request: &Request,
        default_ttl: i64,
    ) {
        let Some(partition_key) = header(request, &PARTITION_KEY) else { return };
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        for WrittenItem { id, new, .. } in written {
            let lifetime = match new {
                Some(new) => lifetime(new.item.get("ttl"), default_ttl),
                // A patch may set it or not: only a read of the item shows it.
                None => Some(0),
            };
            if let Some(lifetime) = lifetime {
                let key = ItemKey {
                    container: container.clone(),
                    partition_key: partition_key.to_owned(),
                    id: id.clone(),
                };
                lock(&self.schedule).put(key, now.saturating_add(lifetime));
            }
        }
    }

    pub(super) async fn sweep(&self, store: &EndpointStore, now: u64) -> usize {
        let due = lock(&self.schedule).take_due(now);
        let mut deleted = 0;
        for item in due {
            // The emulator answers without waiting, so many deletes would starve other tasks.
            tokio::task::yield_now().await;
            match self.expire(store, &item, now).await {
                Ok(true) => deleted += 1,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "an expired item could not be deleted; the next sweep retries it");
                    lock(&self.schedule).put(item, now);
                }
            }
        }
        deleted
    }

    async fn expire(
        &self,
        store: &EndpointStore,
        item: &ItemKey,
        now: u64,
    ) -> Result<bool, CosmosError> {
        #[derive(Deserialize)]
        struct Stored {
            #[serde(rename = "_ts")]
            ts: u64,
            #[serde(rename = "_etag")]
            etag: String,
            ttl: Option<Value>,
        }
        let EndpointStore { account, containers, replicas, feed_orders, .. } = store;
        let request = |method| {
            let mut request = account.request(method, &item.container.item(&item.id));
            request.insert_header(PARTITION_KEY, item.partition_key.clone());
            request
        };
        let known = containers.get(&item.container).await;
        let Some(default_ttl) = known.and_then(|known| known.default_ttl) else {
            return Ok(false);
        };
        let response = account.send(&request(Method::Get)).await?;
        let Ok(stored) = serde_json::from_slice::<Stored>(&response.body) else {
            return Ok(false);
        };
        let Some(lifetime) = lifetime(stored.ttl.as_ref(), default_ttl) else {
            return Ok(false);
        };
        let over_at = stored.ts.saturating_add(lifetime);
        if over_at >= now {
            lock(&self.schedule).put(item.clone(), over_at);
            return Ok(false);
        }
        let mut delete = request(Method::Delete);
        delete.insert_header(IF_MATCH, HeaderValue::from(stored.etag));
        let _writes = replicas.write().await;
        feed_orders.expires(&item.container, &item.partition_key, &item.id);
        Ok(account.send(&delete).await?.status == 204)
    }
}

impl ExpirySchedule {
    fn put(&mut self, item: ItemKey, over_at: u64) {
        if let Some(before) = self.by_item.insert(item.clone(), over_at) {
            self.by_time.remove(&(before, item.clone()));
        }
        self.by_time.insert((over_at, item));
    }

    fn take_due(&mut self, now: u64) -> Vec<ItemKey> {
        let mut due = Vec::new();
        while let Some((over_at, item)) = self.by_time.pop_first() {
            if over_at >= now {
                self.by_time.insert((over_at, item));
                break;
            }
            self.by_item.remove(&item);
            due.push(item);
        }
        due
    }
}
