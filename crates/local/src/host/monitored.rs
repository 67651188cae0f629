//! The monitored container of a `cosmosDBTrigger`: the pages of its changes, and the paths of its partition key.

use azure_data_cosmos::feed::{ChangeFeedPageIterator, ContinuationToken, FeedRange};
use azure_data_cosmos::models::{ChangeFeedItem, EffectivePartitionKey};
use azure_data_cosmos::options::{
    ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint, ReadFeedRangesOptions,
};
use azure_data_cosmos::{ContainerClient, CosmosError, FeedScope};
use cosmos_model::change_feed::{EpkRange, sdk_continuation};
use serde_json::Value;

use super::feed::FeedError;
use super::function::{CosmosTrigger, FeedStart};
use super::lease::{Lease, Leases};

/// The pages of a change feed.
pub(super) type Pages = ChangeFeedPageIterator<ChangeFeedItem<Value>>;

/// Returns the changes from a lease's position on.
pub(super) async fn pages(
    container: &ContainerClient,
    trigger: &CosmosTrigger,
    leases: &Leases,
    lease: &Lease,
) -> Result<Pages, FeedError> {
    let mut options = ChangeFeedOptions::default()
        .with_max_item_count(page_size(trigger.max_items_per_invocation));
    if let Some(continuation) = &lease.item.continuation {
        let token = sdk_continuation(&leases.rid, &epk_range(&lease.range), continuation);
        options = options.with_continuation_token(ContinuationToken::from_string(token));
    }
    let start = match trigger.start {
        FeedStart::Now => ChangeFeedStartFrom::Now,
        FeedStart::Beginning => ChangeFeedStartFrom::Beginning,
        FeedStart::Time(time) => ChangeFeedStartFrom::PointInTime(time),
    };
    let scope = FeedScope::range(lease.range.clone());
    Ok(container.query_change_feed::<Value>(scope, start, Some(options)).await?)
}

/// Returns the JSON pointers to the values of the partition key.
pub(super) async fn key_paths(container: &ContainerClient) -> Result<Vec<String>, FeedError> {
    let properties = container.read(None).await?.into_model()?;
    Ok(properties.partition_key.paths().iter().map(ToString::to_string).collect())
}

/// Returns the page size that `maxItemsPerInvocation` asks for.
fn page_size(count: u32) -> MaxItemCountHint {
    std::num::NonZeroU32::new(count)
        .map_or(MaxItemCountHint::ServerDecides, MaxItemCountHint::Limit)
}

/// Returns the ranges of the present physical partitions.
pub(super) async fn feed_ranges(
    container: &ContainerClient,
) -> Result<Vec<FeedRange>, CosmosError> {
    let options = ReadFeedRangesOptions::default().with_force_refresh(true);
    container.read_feed_ranges(Some(options)).await
}

/// Returns a range as leases have it.
pub(super) fn epk_range(range: &FeedRange) -> EpkRange {
    EpkRange { min: range.min_inclusive().to_hex(), max: range.max_exclusive().to_hex() }
}

/// Returns the range of a lease as the SDK has it.
pub(super) fn feed_range(range: &EpkRange) -> Result<FeedRange, CosmosError> {
    let min = EffectivePartitionKey::try_from(range.min.as_str())?;
    FeedRange::new(min, EffectivePartitionKey::try_from(range.max.as_str())?)
}
