//! Lease items: the delivered position of each range of the change feed.
//!
//! Each physical partition has an item in the lease container, written under If-Match, in the form of the
//! real trigger ([`cosmos_model::change_feed`]). A host that starts takes over the leases of its function at
//! once, from any owner. The former owner notices that at its next write. Leases do not expire here, but
//! their owner renews them as the real one does.

use anyhow::Context as _;
use azure_core::http::Etag;
use azure_data_cosmos::feed::FeedRange;
use azure_data_cosmos::models::{ContainerProperties, TimeToLive};
use azure_data_cosmos::options::{
    ChangeFeedStartFrom, FeedOptions, ItemWriteOptions, Precondition, QueryOptions,
};
use azure_data_cosmos::{ContainerClient, CosmosClient, FeedScope, Query};
use cosmos_model::change_feed::{LeaseItem, LeaseRange, lease_prefix};
use futures::{StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::Instant;

use super::feed::{FeedError, epk_range, feed_range, feed_ranges, open};
use super::function::CosmosTrigger;

const MAX_ACQUIRE_ATTEMPTS: u32 = 10;

#[derive(Debug, Clone)]
pub(super) struct Lease {
    pub item: LeaseItem,
    /// Its range of effective partition keys.
    pub range: FeedRange,
    /// The time of this host's last write.
    pub written_at: Instant,
    etag: Option<Etag>,
}

#[derive(Deserialize)]
struct StoredLease {
    #[serde(flatten)]
    item: LeaseItem,
    #[serde(rename = "_etag")]
    etag: String,
}

impl TryFrom<StoredLease> for Lease {
    type Error = FeedError;

    fn try_from(StoredLease { item, etag }: StoredLease) -> Result<Self, FeedError> {
        let range = item.range().with_context(|| {
            let id = &item.id;
            format!("the lease {id} has no FeedRange: delete it, or let the real trigger acquire it once")
        })?;
        let range = feed_range(range)?;
        Ok(Self { item, range, written_at: Instant::now(), etag: Some(Etag::from(etag)) })
    }
}

#[derive(Clone)]
pub(super) struct Leases {
    monitored: ContainerClient,
    container: ContainerClient,
    prefix: String,
    /// The `_rid` of the monitored container.
    pub(super) rid: String,
    owner: String,
}

impl Leases {
    pub(super) async fn open(
        client: &CosmosClient,
        trigger: &CosmosTrigger,
        monitored: (&CosmosClient, &ContainerClient),
        owner: &str,
    ) -> Result<Self, FeedError> {
        let name = &trigger.lease_container;
        if trigger.create_lease_container {
            let properties = ContainerProperties::new(name.clone(), "/id".into())
                .with_default_ttl(TimeToLive::NoDefault);
            let database = client.database_client(&trigger.lease_database);
            match database.create_container(properties, None).await {
                Err(error) if !error.status().is_conflict() => return Err(error.into()),
                _ => {}
            }
        }
        let container = open(client, &trigger.lease_database, name).await?;
        let (account, monitored) = monitored;
        let properties = monitored.read(None).await?.into_model()?;
        let rid = properties.system_properties.resource_id.unwrap_or_default();
        let host = account.endpoint().host_str().unwrap_or_default();
        let prefix = lease_prefix(&trigger.lease_prefix, host, &rid).with_context(|| {
            format!("the container {} has no _rid that names its leases", trigger.container)
        })?;
        Ok(Self { monitored: monitored.clone(), container, prefix, rid, owner: owner.to_owned() })
    }

    /// Acquires a lease for each physical partition. After a split each child starts at its parent's
    /// continuation, and the parent's lease is deleted as soon as all its children have theirs. After a
    /// merge the older, narrower leases stay.
    pub(super) async fn acquire(&self, physical: &[FeedRange]) -> Result<Vec<Lease>, FeedError> {
        let stored = self.stored().await?;
        if stored.is_empty() {
            self.create_info().await?;
        }
        let mut taken = Vec::new();
        let mut replaced = Vec::new();
        for range in physical {
            let n_taken = taken.len();
            for lease in stored.iter().filter(|lease| lease.range.is_subset_of(range)) {
                taken.push(self.take(lease.clone()).await?);
            }
            if taken.len() > n_taken {
                continue;
            }
            let parent = stored.iter().find(|lease| range.is_subset_of(&lease.range));
            replaced.extend(parent);
            let continuation = parent.and_then(|lease| lease.item.continuation.clone());
            taken.push(self.create(range.clone(), continuation).await?);
        }
        // The children of a parent that was split before cover it, with new or earlier leases.
        replaced.extend(stored.iter().filter(|lease| {
            physical.iter().filter(|range| range.is_subset_of(&lease.range)).count() > 1
        }));
        for lease in replaced {
            self.delete(lease).await?;
        }
        Ok(taken)
    }

    /// Returns true if a lost lease has no owner: an operator has taken it away.
    pub(super) async fn is_released(&self, id: &str) -> Result<bool, FeedError> {
        Ok(self.read(id).await?.is_some_and(|lease| lease.item.owner.is_none()))
    }

    async fn stored(&self) -> Result<Vec<Lease>, FeedError> {
        let query = Query::from("SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)")
            .with_parameter("@prefix", format!("{}..", self.prefix))?;
        // By default the SDK refuses a query of more than 100 physical partitions.
        let feed = FeedOptions::default().with_max_fan_out(u32::MAX);
        let options = QueryOptions::default().with_feed_options(feed);
        let stored: Vec<StoredLease> = self
            .container
            .query_items(query, FeedScope::full_container(), Some(options))
            .await?
            .try_collect()
            .await?;
        stored.into_iter().map(Lease::try_from).collect()
    }

    async fn take(&self, mut lease: Lease) -> Result<Lease, FeedError> {
        let mut attempt = 1;
        while lease.item.owner.as_ref() != Some(&self.owner) {
            let id = lease.item.id.clone();
            lease.item.owner = Some(self.owner.clone());
            match self.replace(&mut lease).await {
                // Its last owner has written it, or a replica that lags was read.
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
        let token = self.partition_id(&range).await?;
        // If it has split meanwhile, one of its children has answered, whose own lease needs the id.
        if !feed_ranges(&self.monitored).await?.contains(&range) {
            return Err(FeedError::Split);
        }
        let item = LeaseItem {
            id: format!("{}..{token}", self.prefix),
            version: 0,
            token,
            feed_range: Some(LeaseRange { range: epk_range(&range) }),
            owner: Some(self.owner.clone()),
            continuation,
            properties: serde_json::Map::new(),
            timestamp: Some(now()),
            mode: Some(LeaseItem::LATEST_VERSION.to_owned()),
        };
        match self.container.create_item(&item.id, &item.id, &item, None).await {
            Ok(response) => {
                let etag = response.headers().etag().cloned();
                Ok(Lease { item, range, written_at: Instant::now(), etag })
            }
            Err(error) if error.status().is_conflict() => {
                Ok(self.written(&item).await?.ok_or(error)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn create_info(&self) -> Result<(), FeedError> {
        let id = format!("{}.info", self.prefix);
        match self.container.create_item(&id, &id, &json!({ "id": id }), None).await {
            Err(error) if !error.status().is_conflict() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Returns the id of a physical partition, as a session token of the partition begins with it.
    async fn partition_id(&self, range: &FeedRange) -> Result<String, FeedError> {
        let scope = FeedScope::range(range.clone());
        let start = ChangeFeedStartFrom::Now;
        let mut pages =
            self.monitored.query_change_feed::<serde_json::Value>(scope, start, None).await?;
        let page = pages.next().await.transpose()?;
        let session = page.as_ref().and_then(|page| page.headers().session_token());
        let id = session.and_then(|token| token.as_str().split_once(':'));
        id.map(|(id, _)| id.to_owned()).ok_or(FeedError::Split)
    }

    async fn read(&self, id: &str) -> Result<Option<Lease>, FeedError> {
        match self.container.read_item(id.to_owned(), id, None).await {
            Ok(response) => {
                let stored: StoredLease = response.into_model()?;
                Ok(Some(stored.try_into()?))
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
            item.owner == wanted.owner && item.timestamp == wanted.timestamp
        }))
    }

    /// Writes a lease under its ETag, which also renews it.
    pub(super) async fn replace(&self, lease: &mut Lease) -> Result<(), FeedError> {
        lease.item.timestamp = Some(now());
        let mut options = ItemWriteOptions::default();
        if let Some(etag) = &lease.etag {
            options = options.with_precondition(Precondition::if_match(etag.clone()));
        }
        let item = &lease.item;
        match self.container.replace_item(&item.id, &item.id, item, Some(options)).await {
            Ok(response) => {
                lease.etag = response.headers().etag().cloned();
                lease.written_at = Instant::now();
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
