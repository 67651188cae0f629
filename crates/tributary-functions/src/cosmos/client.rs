//! The client of the Cosmos DB account, made on first use.

use std::{sync::Arc, time::Duration};

use azure_data_cosmos::{
    AccountReference, CosmosClient, CosmosRuntime, RoutingStrategy,
    options::{OperationOptionsBuilder, ThrottlingRetryOptionsBuilder, UserAgentSuffix},
};
use tokio::sync::OnceCell;

use super::{StoreError, meter::MeterHandler};
use crate::brand::brand;

/// The time limit of one store operation, with all the retries of the SDK.
///
/// The Functions host gives an HTTP function 240 s; a caller has long given up by then, and an
/// honest 503 lets it try again.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(20);

/// The total time that the SDK waits for a throttled operation before the caller gets a 429.
///
/// Its own 30 s would hold requests and their memory while more come in. Five seconds outlast a
/// burst, since the store asks for milliseconds at a time.
const MAX_THROTTLED_WAIT: Duration = Duration::from_secs(5);

/// One database of a Cosmos DB account.
///
/// To make one sends nothing: the handler is ready for the Functions host at once, and a store that
/// cannot be reached is an error of the request that needs it.
#[derive(Debug)]
pub struct Cosmos {
    account: AccountReference,
    runtime: Option<CosmosRuntime>,
    database: String,
    routing: RoutingStrategy,
    client: OnceCell<CosmosClient>,
}

/// The address of the store and the app's identity there.
#[derive(Debug)]
pub struct CosmosOptions {
    /// The account and its credential.
    pub account: AccountReference,
    /// The database.
    pub database: String,
    /// The region of the account that is asked first.
    pub routing: RoutingStrategy,
}

impl From<CosmosOptions> for Arc<Cosmos> {
    fn from(options: CosmosOptions) -> Self {
        let CosmosOptions { account, database, routing } = options;
        Cosmos { account, runtime: None, database, routing, client: OnceCell::new() }.into()
    }
}

impl Cosmos {
    /// The database `database` of `account`, reached through `runtime` or through the SDK's own, in
    /// the account's order of regions.
    pub fn new(
        account: AccountReference,
        runtime: Option<CosmosRuntime>,
        database: String,
    ) -> Arc<Self> {
        let routing = RoutingStrategy::PreferredRegions(Vec::new());
        Arc::new(Self { account, runtime, database, routing, client: OnceCell::new() })
    }

    pub(super) async fn container_client(
        &self,
        id: &'static str,
    ) -> Result<azure_data_cosmos::clients::ContainerClient, StoreError> {
        let client = self.client.get_or_try_init(|| self.connect()).await?;
        let container = client.database_client(&self.database).container_client(id, None).await;
        container.map_err(|error| StoreError::from_lookup(id, error))
    }

    /// Connects to the account. The SDK's defaults stay for the other settings:
    ///
    /// - Failover (3 retries in other regions) and hedging (a read that has no answer after a second
    ///   is sent to a second region as well) act only on accounts with several regions.
    /// - Connections: 5 s to connect, 6 s for a try of a request, so [`OPERATION_TIMEOUT`] leaves
    ///   room for three; HTTP/2 over a few connections, with a ping each second, which finds the
    ///   dead ones of an instance that was frozen. Many more than the requests that one instance
    ///   serves at a time would only cost memory.
    /// - Writes answer without the item: we know what we wrote.
    /// - Binary encoding and session tokens are on. `AZURE_COSMOS_BINARY_ENCODING_ENABLED=false` is
    ///   for the vNext emulator.
    async fn connect(&self) -> Result<CosmosClient, StoreError> {
        let throttling = ThrottlingRetryOptionsBuilder::new()
            .with_max_retry_wait_time(MAX_THROTTLED_WAIT)
            .build();
        let options = OperationOptionsBuilder::new()
            .with_end_to_end_latency_policy(OPERATION_TIMEOUT.into())
            .with_throttling_retry_options(throttling)
            .build();
        let mut builder = CosmosClient::builder()
            .with_default_operation_options(options)
            .with_diagnostics_handler(Arc::new(MeterHandler));
        // It tells the app's requests from others in the account's `DataPlaneRequests` log.
        if let Ok(suffix) = UserAgentSuffix::try_from(brand().name) {
            builder = builder.with_user_agent_suffix(suffix);
        }
        if let Some(runtime) = &self.runtime {
            builder = builder.with_runtime(runtime.clone());
        }
        let client = builder.build(self.account.clone(), self.routing.clone()).await;
        client.map_err(StoreError::from_read)
    }
}
