//! The client of the Cosmos DB account, made on first use.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use azure_data_cosmos::{
    AccountReference, CosmosClient, CosmosRuntime, RoutingStrategy,
    options::{OperationOptionsBuilder, Region, ThrottlingRetryOptionsBuilder},
};
use tokio::sync::OnceCell;

use super::{Container, StoreError, meter::MeterHandler};

/// How long one store operation may take with all the retries of the SDK.
///
/// The Functions host gives an HTTP function 240 s; a caller has long given up by then, and an
/// honest 503 lets it try again.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the SDK waits in all for a throttled operation before the caller gets a 429.
const THROTTLED_FOR: Duration = Duration::from_secs(5);

/// One database of a Cosmos DB account.
///
/// Nothing is sent before the first operation: the handler is ready for the Functions host at
/// once, and a store that cannot be reached is an error of the request that needs it.
#[derive(Debug)]
pub struct Cosmos {
    account: AccountReference,
    runtime: Option<CosmosRuntime>,
    database: String,
    client: OnceCell<CosmosClient>,
}

impl Cosmos {
    /// The database `database` of `account`, reached through `runtime` or through the SDK's own.
    pub fn new(
        account: AccountReference,
        runtime: Option<CosmosRuntime>,
        database: String,
    ) -> Arc<Self> {
        Arc::new(Self { account, runtime, database, client: OnceCell::new() })
    }

    /// A container of the database.
    pub fn container(self: &Arc<Self>, id: &'static str) -> Container {
        Container::new(Arc::clone(self), id)
    }

    pub(super) async fn container_client(
        &self,
        id: &'static str,
    ) -> Result<azure_data_cosmos::clients::ContainerClient, StoreError> {
        let client = self.client.get_or_try_init(|| self.connect()).await?;
        Ok(client.database_client(&self.database).container_client(id, None).await?)
    }

    async fn connect(&self) -> Result<CosmosClient, StoreError> {
        let throttling =
            ThrottlingRetryOptionsBuilder::new().with_max_retry_wait_time(THROTTLED_FOR).build();
        let options = OperationOptionsBuilder::new()
            .with_end_to_end_latency_policy(OPERATION_TIMEOUT.into())
            .with_throttling_retry_options(throttling)
            .build();
        let mut builder = CosmosClient::builder()
            .with_default_operation_options(options)
            .with_diagnostics_handler(Arc::new(MeterHandler));
        if let Some(runtime) = &self.runtime {
            builder = builder.with_runtime(runtime.clone());
        }
        Ok(builder.build(self.account.clone(), REGION.clone()).await?)
    }
}

/// The region that the app runs in, where the account's nearest replica is found.
///
/// App Service sets `REGION_NAME`; elsewhere (a laptop, an emulator) any known region will do.
static REGION: LazyLock<RoutingStrategy> = LazyLock::new(|| {
    let region = std::env::var("REGION_NAME").map_or(Region::EAST_US, Region::from);
    RoutingStrategy::ProximityTo(region)
});
