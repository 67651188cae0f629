//! The change feed of a container for an observer: the partitions, and the first change behind a position. The
//! observer applies no change and moves no checkpoint.

use std::num::NonZeroU32;

use azure_data_cosmos::{
    CosmosError, FeedScope,
    feed::{ContinuationToken, FeedPage, FeedRange},
    models::{ChangeFeedItem, ChangeFeedMetadata, ContainerProperties, EffectivePartitionKey},
    options::{
        ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint, ReadFeedRangesOptions,
        SessionToken,
    },
};
use cosmos_model::change_feed::{EpkRange, lsn_of_session, sdk_continuation};
use futures::{FutureExt, TryStreamExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::Value;

use super::{
    StoreError,
    container::{Container, FeedIdentity, measured},
    meter::timed,
    position::partition_of,
};
use crate::values::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeedHead {
    /// The physical partition that has answered.
    pub partition: String,
    pub last_lsn: u64,
    pub next: Option<NextChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NextChange {
    pub lsn: u64,
    pub written_at: Timestamp,
}

#[derive(Deserialize)]
struct SystemFields {
    #[serde(rename = "_ts", default)]
    written_at: i64,
    /// Of the store, unless the change has metadata: then another program may have written it.
    #[serde(rename = "_lsn", default)]
    lsn: Value,
}

impl Container {
    /// Costs one request (2 request units) at the first use.
    pub(crate) async fn feed_identity(&self) -> Result<&FeedIdentity, StoreError> {
        let read = async || {
            let client = self.client().await?;
            let call = async { client.read(None).await?.into_model() };
            let properties: ContainerProperties = self.observed(call).await?;
            let rid = properties.system_properties.resource_id;
            let rid = rid.ok_or_else(StoreError::unexpected)?;
            Ok(FeedIdentity { host: self.cosmos.host().await?, rid })
        };
        self.identity.get_or_try_init(|| read().boxed()).await
    }

    async fn observed<'a, T: 'a>(
        &self,
        call: impl Future<Output = Result<T, CosmosError>> + Send + 'a,
    ) -> Result<T, StoreError> {
        measured(self.id(), None, false, timed(call)).await.map_err(StoreError::from_read)
    }

    pub(crate) fn seen_lsn(&self, partition: &str) -> u64 {
        self.cosmos.session.lsn(self.id(), partition)
    }

    pub(crate) fn physical_ranges(&self) -> BoxFuture<'_, Result<Vec<EpkRange>, StoreError>> {
        Box::pin(async {
            let options = ReadFeedRangesOptions::default().with_force_refresh(true);
            let ranges = self.client().await?.read_feed_ranges(Some(options));
            Ok(self.observed(ranges).await?.iter().map(epk_range).collect())
        })
    }

    /// Reads the first change of a range, which lies in one physical partition, behind the continuation of a lease:
    /// one request (1 to 2 request units), whose page ends after the first transaction.
    pub(crate) fn feed_head<'a>(
        &'a self,
        range: &'a EpkRange,
        continuation: Option<&'a str>,
    ) -> BoxFuture<'a, Result<FeedHead, StoreError>> {
        Box::pin(async move {
            let FeedIdentity { rid, .. } = self.feed_identity().await?;
            let mut options = ChangeFeedOptions::default()
                .with_operation_options((*self.options).clone())
                .with_max_item_count(MaxItemCountHint::Limit(NonZeroU32::MIN));
            if let Some(continuation) = continuation {
                let token = sdk_continuation(rid, range, continuation);
                options = options.with_continuation_token(ContinuationToken::from_string(token));
            }
            let scope = FeedScope::range(feed_range(range).ok_or_else(StoreError::unreadable)?);
            let start = ChangeFeedStartFrom::Beginning;
            let client = self.client().await?;
            let call = async {
                let mut pages =
                    client.query_change_feed::<SystemFields>(scope, start, Some(options)).await?;
                pages.try_next().await
            };
            self.observed(call).await?.map(head).ok_or_else(StoreError::unexpected)
        })
    }
}

/// After a split, a lease of the parent spans several physical partitions.
pub(crate) fn parts_of(range: &EpkRange, physical: &[EpkRange]) -> Vec<EpkRange> {
    let Some(range) = feed_range(range) else { return Vec::new() };
    let part = |physical: &EpkRange| {
        let physical = feed_range(physical)?;
        let min = range.min_inclusive().max(physical.min_inclusive());
        let max = range.max_exclusive().min(physical.max_exclusive());
        (min < max).then(|| EpkRange { min: min.to_hex(), max: max.to_hex() })
    };
    physical.iter().filter_map(part).collect()
}

fn head(page: FeedPage<ChangeFeedItem<SystemFields>>) -> FeedHead {
    let session = page.headers().session_token().map_or("", SessionToken::as_str);
    let partition = partition_of(session).to_owned();
    let last_lsn = lsn_of_session(session).unwrap_or_default();
    let next = page.into_items().into_iter().next().map(|change| {
        let in_metadata = change.metadata().and_then(ChangeFeedMetadata::lsn);
        let in_metadata = in_metadata.and_then(|lsn| u64::try_from(lsn.value()).ok());
        let item = change.current();
        NextChange {
            // Without an LSN it counts as the last write.
            lsn: in_metadata.or_else(|| item?.lsn.as_u64()).unwrap_or(last_lsn),
            written_at: item
                .and_then(|item| Timestamp::from_unix_seconds(item.written_at))
                .unwrap_or(Timestamp::EPOCH),
        }
    });
    FeedHead { partition, last_lsn, next }
}

fn epk_range(range: &FeedRange) -> EpkRange {
    EpkRange { min: range.min_inclusive().to_hex(), max: range.max_exclusive().to_hex() }
}

fn feed_range(range: &EpkRange) -> Option<FeedRange> {
    let min = EffectivePartitionKey::try_from(range.min.as_str()).ok()?;
    let max = EffectivePartitionKey::try_from(range.max.as_str()).ok()?;
    if min < max { FeedRange::new(min, max).ok() } else { None }
}
