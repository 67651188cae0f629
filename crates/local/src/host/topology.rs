//! The physical partitions of a container: their ranges of effective partition keys, for the SDK and in leases.

use azure_data_cosmos::feed::FeedRange;
use azure_data_cosmos::models::EffectivePartitionKey;
use azure_data_cosmos::options::ReadFeedRangesOptions;
use azure_data_cosmos::{ContainerClient, CosmosError};
use cosmos_model::change_feed::EpkRange;

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
