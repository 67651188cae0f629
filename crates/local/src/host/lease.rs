//! Lease items: the delivered position of each range of the change feed.
//!
//! Each physical partition has an item in the lease container, written under If-Match. A host that
//! starts takes over the leases of its function at once, from any owner. The former owner notices that
//! at its next checkpoint. Leases do not expire here.

use azure_core::http::Etag;
use azure_data_cosmos::feed::FeedRange;
use azure_data_cosmos::models::ContainerProperties;
use azure_data_cosmos::options::{FeedOptions, ItemWriteOptions, Precondition, QueryOptions};
use azure_data_cosmos::{ContainerClient, CosmosClient, FeedScope, Query};
use futures::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::feed_error::FeedError;
use super::function::CosmosTrigger;

/// The number of attempts to acquire a lease that another host has written meanwhile.
const MAX_ACQUIRE_ATTEMPTS: u32 = 10;

/// A lease item as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeaseItem {
    /// `<prefix><database>_<container>..<range>`.
    pub id: String,
    /// The owner.
    pub owner: String,
    /// Its range of effective partition keys.
    #[serde(rename = "feedRange")]
    pub range: FeedRange,
    /// The SDK's continuation token after the last delivered batch.
    pub continuation: Option<String>,
    /// The time of the last write.
    pub timestamp: String,
}

/// A lease of this host.
#[derive(Debug, Clone)]
pub(super) struct Lease {
    pub item: LeaseItem,
    etag: Option<Etag>,
}

#[derive(Deserialize)]
struct StoredLease {
    #[serde(flatten)]
    item: LeaseItem,
    #[serde(rename = "_etag")]
    etag: String,
}

/// The leases of one function.
#[derive(Clone)]
pub(super) struct Leases {
    container: ContainerClient,
    prefix: String,
    owner: String,
}

impl Leases {
    pub(super) async fn open(
        client: &CosmosClient,
        trigger: &CosmosTrigger,
        owner: &str,
    ) -> Result<Self, FeedError> {
        let database = client.database_client(&trigger.lease_database);
        let name = &trigger.lease_container;
        if trigger.create_lease_container {
            let properties: ContainerProperties = serde_json::from_value(json!({
                "id": name,
                "partitionKey": { "paths": ["/id"], "kind": "Hash", "version": 2 },
                "defaultTtl": -1,
            }))?;
            match database.create_container(properties, None).await {
                Err(error) if !error.status().is_conflict() => return Err(error.into()),
                _ => {}
            }
        }
        let container = database
            .container_client(name, None)
            .await
            .map_err(|error| FeedError::container(&trigger.lease_database, name, error))?;
        Ok(Self {
            container,
            prefix: format!("{}{}_{}..", trigger.lease_prefix, trigger.database, trigger.container),
            owner: owner.to_owned(),
        })
    }

    /// Acquires a lease for each physical partition. After a split each child starts at its parent's
    /// continuation, and the parent's lease is deleted as soon as all its children have theirs. After a
    /// merge the older, narrower leases stay.
    pub(super) async fn acquire(&self, physical: &[FeedRange]) -> Result<Vec<Lease>, FeedError> {
        let stored = self.stored().await?;
        let mut taken = Vec::new();
        let mut replaced = Vec::new();
        for range in physical {
            if let Some(lease) = stored.iter().find(|lease| lease.item.range == *range) {
                taken.push(self.take(lease.clone()).await?);
                continue;
            }
            let within: Vec<_> =
                stored.iter().filter(|lease| lease.item.range.is_subset_of(range)).collect();
            if !within.is_empty() {
                for lease in within {
                    taken.push(self.take(lease.clone()).await?);
                }
                continue;
            }
            let parent = stored.iter().find(|lease| range.is_subset_of(&lease.item.range));
            replaced.extend(parent);
            let continuation = parent.and_then(|lease| lease.item.continuation.clone());
            taken.push(self.create(range.clone(), continuation).await?);
        }
        // The children of a parent that was split before cover it, with new or earlier leases.
        replaced.extend(stored.iter().filter(|lease| {
            physical.iter().filter(|range| range.is_subset_of(&lease.item.range)).count() > 1
        }));
        for lease in replaced {
            self.delete(lease).await?;
        }
        Ok(taken)
    }

    /// Writes the delivered position of the lease's range.
    pub(super) async fn checkpoint(
        &self,
        lease: &mut Lease,
        continuation: String,
    ) -> Result<(), FeedError> {
        lease.item.continuation = Some(continuation);
        self.replace(lease).await
    }

    async fn stored(&self) -> Result<Vec<Lease>, FeedError> {
        let query = Query::from("SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)")
            .with_parameter("@prefix", &self.prefix)?;
        // By default the SDK refuses a query of more than 100 physical partitions.
        let feed = FeedOptions::default().with_max_fan_out(u32::MAX);
        let options = QueryOptions::default().with_feed_options(feed);
        let stored: Vec<StoredLease> = self
            .container
            .query_items(query, FeedScope::full_container(), Some(options))
            .await?
            .try_collect()
            .await?;
        Ok(stored
            .into_iter()
            .map(|stored| Lease { item: stored.item, etag: Some(Etag::from(stored.etag)) })
            .collect())
    }

    async fn take(&self, mut lease: Lease) -> Result<Lease, FeedError> {
        let mut attempt = 1;
        while lease.item.owner != self.owner {
            let id = lease.item.id.clone();
            lease.item.owner.clone_from(&self.owner);
            match self.replace(&mut lease).await {
                // Its last owner has written it, or a replica that lags was read.
                // guard: host: a lease is taken again when its last owner has written it =>
                //     `if false`
                Err(error @ FeedError::LeaseLost(_)) if attempt < MAX_ACQUIRE_ATTEMPTS => {
                    lease = self.read(&id).await?.ok_or(error)?;
                    attempt += 1;
                }
                replaced => replaced?,
            }
        }
        Ok(lease)
    }

    async fn create(
        &self,
        range: FeedRange,
        continuation: Option<String>,
    ) -> Result<Lease, FeedError> {
        let min = range.min_inclusive().to_hex();
        let max = range.max_exclusive().to_hex();
        let item = LeaseItem {
            id: format!("{}{min}-{max}", self.prefix),
            owner: self.owner.clone(),
            range: range.clone(),
            continuation,
            timestamp: now(),
        };
        match self.container.create_item(&item.id, &item.id, &item, None).await {
            Ok(response) => Ok(Lease { etag: response.headers().etag().cloned(), item }),
            Err(error) if error.status().is_conflict() => {
                Ok(self.written(&item).await?.ok_or(error)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn read(&self, id: &str) -> Result<Option<Lease>, FeedError> {
        match self.container.read_item(id.to_owned(), id, None).await {
            Ok(response) => {
                let StoredLease { item, etag } = response.into_model()?;
                Ok(Some(Lease { item, etag: Some(Etag::from(etag)) }))
            }
            Err(error) if error.status().is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the lease item if it has the wanted state. Then the answer to the write was lost, and
    /// the SDK has repeated the write.
    async fn written(&self, wanted: &LeaseItem) -> Result<Option<Lease>, FeedError> {
        let stored = self.read(&wanted.id).await?;
        Ok(stored.filter(|Lease { item, .. }| {
            // guard: host: a lost answer to a checkpoint is recognised => `false`
            item.owner == wanted.owner && item.timestamp == wanted.timestamp
        }))
    }

    async fn replace(&self, lease: &mut Lease) -> Result<(), FeedError> {
        lease.item.timestamp = now();
        let mut options = ItemWriteOptions::default();
        // guard: host: If-Match on a lease
        if let Some(etag) = &lease.etag {
            options = options.with_precondition(Precondition::if_match(etag.clone()));
        }
        let item = &lease.item;
        match self.container.replace_item(&item.id, &item.id, item, Some(options)).await {
            Ok(response) => {
                lease.etag = response.headers().etag().cloned();
                Ok(())
            }
            Err(error) if error.status().is_precondition_failed() => {
                let written = self.written(item).await?;
                *lease = written.ok_or_else(|| FeedError::LeaseLost(item.id.clone()))?;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn delete(&self, lease: &Lease) -> Result<(), FeedError> {
        let id = &lease.item.id;
        match self.container.delete_item(id, id, None).await {
            Err(error) if !error.status().is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }
}

fn now() -> String {
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default()
}
