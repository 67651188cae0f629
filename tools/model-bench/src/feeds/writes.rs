//! The writes: single items, many at once, and the migration.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::Value;
use tributary_functions::cosmos::{ETag, Query, Stored, Transaction};

use super::{
    EXPIRY_OF_MIGRATED,
    data::FeedItem,
    keys::{KeyStrategy, Provider},
    router::{Feeds, scope, text},
};

/// The operations of a transactional batch at most (service limit).
const MAX_BATCH_OPERATIONS: usize = 100;
/// The number of items that a run of the migration finds. The guide: pages of 100.
pub(super) const MIGRATED_AT_ONCE: u32 = 100;

impl Feeds {
    /// Writes a new item or a repeated one.
    pub(super) async fn put(&self, item: &FeedItem) -> anyhow::Result<()> {
        let place = self.place(item.published_date.unix_seconds())?;
        Ok(place.upsert(&item.partition_key, &item.id, item).await?)
    }

    /// Writes many items: a transaction for each logical partition, or for 100 items of it.
    pub(super) async fn put_all(&self, items: &[FeedItem]) -> anyhow::Result<()> {
        let mut groups: BTreeMap<(&str, &str), Vec<&FeedItem>> = BTreeMap::new();
        for item in items {
            let place = self.place(item.published_date.unix_seconds())?;
            groups.entry((place.id(), &item.partition_key)).or_default().push(item);
        }
        for ((_, key), group) in groups {
            for part in group.chunks(MAX_BATCH_OPERATIONS) {
                let first = part.first().context("a part has an item")?;
                let place = self.place(first.published_date.unix_seconds())?;
                if let [single] = part {
                    place.upsert(key, &single.id, single).await?;
                    continue;
                }
                let mut transaction = Transaction::new(key);
                for item in part {
                    transaction = transaction.upsert(item)?;
                }
                place.transact(transaction).await?;
            }
        }
        Ok(())
    }

    /// Writes items that are past the age limit into the hot container, in their form before a
    /// migration.
    pub(super) async fn put_unmigrated(&self, items: &[FeedItem]) -> anyhow::Result<()> {
        let (hot, _) = self.hot_and_warm()?;
        for item in items {
            hot.create(&item.partition_key, &item.id, item).await?;
        }
        Ok(())
    }

    /// Runs the migration once: finds items past the age limit, copies each, verifies the copy, and
    /// flags the hot one if it is still the copied version. Then it deletes that one, as its TTL does a
    /// day later at the same price. Returns the number of items.
    pub(super) async fn migrate(&self) -> anyhow::Result<usize> {
        let (hot, warm) = self.hot_and_warm()?;
        let month = self.partition_at_threshold();
        let found: Vec<Value> =
            hot.query(self.unmigrated()?, scope(month.as_deref()), MIGRATED_AT_ONCE).await?;
        for value in &found {
            let etag = value.get("_etag").and_then(Value::as_str).context("no ETag")?;
            let etag = ETag::from(etag.to_owned());
            let mut item: FeedItem = serde_json::from_value(value.clone())?;
            let key = item.partition_key.clone();
            let id = item.id.clone();
            warm.create(&key, &id, &item).await?;
            let copy: Option<Stored<FeedItem>> = warm.read(&key, &id).await?;
            copy.context("the copy does not exist")?;
            (item.migrated, item.ttl) = (Some(true), Some(EXPIRY_OF_MIGRATED));
            let flagged = hot.replace(&key, &id, &item, &etag).await?;
            hot.delete(&key, &id, &flagged).await?;
        }
        Ok(found.len())
    }

    fn unmigrated(&self) -> anyhow::Result<Query> {
        let query = Query::from(
            "SELECT TOP @limit * FROM c WHERE c.publishedDate < @threshold \
             AND (NOT IS_DEFINED(c.migrated) OR c.migrated = false) ORDER BY c.publishedDate ASC",
        );
        let query = query.with_parameter("@limit", MIGRATED_AT_ONCE)?;
        Ok(query.with_parameter("@threshold", text(self.threshold())?)?)
    }

    /// Returns the month in which items pass the age limit; a hybrid key needs the provider, too, and
    /// the query then reads all of the hot container.
    fn partition_at_threshold(&self) -> Option<String> {
        let nobody = Provider { id: "", has_high_volume: false };
        let month = || KeyStrategy::Monthly.of_item("", nobody, self.threshold() - 1);
        (self.keys == KeyStrategy::Monthly).then(month)
    }
}
