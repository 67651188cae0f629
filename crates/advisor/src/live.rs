//! A live container, and a random sample of it.

use std::num::NonZeroU32;

use anyhow::{Context, anyhow};
use azure_data_cosmos::{
    ContainerClient, FeedScope, Query,
    feed::QueryPageIterator,
    options::{
        FeedOptions, MaxItemCountHint, OperationOptions, PriorityLevel, QueryOptions,
        ThroughputControlOptionsBuilder,
    },
};
use cosmos_model::partitioning::KeyStrategy;
use serde_json::value::RawValue;

mod connection;
mod draw;
mod endings;

pub(crate) use draw::{DrawnSample, MIN_REQUEST_UNITS};

const UNREACHABLE: &str = "the account cannot be reached";

pub(crate) struct LiveContainer {
    client: ContainerClient,
    pub(crate) key: KeyStrategy,
}

impl LiveContainer {
    /// Connects to an account by a connection string with a key, or by its URL with an identity: that of the app in
    /// Azure, and of the signed-in developer elsewhere. Looks the container up and reads its key.
    pub(crate) async fn open(account: &str, database: &str, id: &str) -> anyhow::Result<Self> {
        let cosmos = connection::connect(account).await?;
        let found = |error: azure_data_cosmos::CosmosError| {
            if error.status().is_not_found() {
                anyhow!("there is no container `{id}` in the database `{database}`")
            } else {
                anyhow::Error::new(error).context(UNREACHABLE)
            }
        };
        let client = cosmos.database_client(database).container_client(id, None).await;
        let client = client.map_err(found)?;
        let definition = client.read(None).await.map_err(found)?.into_model()?.partition_key;
        let paths: Vec<String> = definition.paths().iter().map(ToString::to_string).collect();
        let paths = paths.join(",");
        let key =
            paths.parse().with_context(|| format!("the partition key {paths} cannot be read"))?;
        Ok(Self { client, key })
    }

    /// Queries all physical partitions, with low priority where the account has priorities.
    async fn pages(
        &self,
        query: Query,
        page_items: u32,
    ) -> azure_data_cosmos::Result<QueryPageIterator<Box<RawValue>>> {
        let mut operation = OperationOptions::default();
        operation.throughput_control = Some(
            ThroughputControlOptionsBuilder::new().with_priority_level(PriorityLevel::Low).build(),
        );
        let page_items = NonZeroU32::new(page_items).unwrap_or(NonZeroU32::MIN);
        // By default, the SDK refuses a query of more than 100 physical partitions.
        let feed = FeedOptions::default()
            .with_max_item_count(MaxItemCountHint::Limit(page_items))
            .with_max_fan_out(u32::MAX);
        let options =
            QueryOptions::default().with_operation_options(operation).with_feed_options(feed);
        let scope = FeedScope::full_container();
        Ok(self.client.query_items(query, scope, Some(options)).await?.into_pages())
    }
}
