//! The client of the Cosmos DB account, made on first use.

use std::{sync::Arc, time::Duration};

use azure_data_cosmos::{
    AccountReference, CosmosClient, CosmosRuntime, RoutingStrategy,
    options::{OperationOptionsBuilder, ThrottlingRetryOptionsBuilder, UserAgentSuffix},
};
use tokio::sync::OnceCell;

use super::{StoreError, meter::MeterHandler, session::InstanceSession};
use crate::brand::brand;
pub use crate::containers;

/// A caller gives up long before the 240 s of the Functions host, and can retry after an early 503.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(20);

/// Five seconds outlast a burst; the default of 30 s would hold requests and their memory while more arrive.
const MAX_THROTTLED_WAIT: Duration = Duration::from_secs(5);

/// One database of an account. Creating one sends nothing: an unreachable store fails the request that needs it.
#[derive(Debug)]
pub struct Cosmos {
    options: CosmosOptions,
    runtime: Option<CosmosRuntime>,
    client: OnceCell<CosmosClient>,
    pub(super) session: Arc<InstanceSession>,
}

/// The address of the store and the app's identity there.
#[derive(Debug)]
pub struct CosmosOptions {
    /// The account and its credential.
    pub account: AccountReference,
    /// The database.
    pub database: String,
}

impl From<CosmosOptions> for Arc<Cosmos> {
    fn from(CosmosOptions { account, database }: CosmosOptions) -> Self {
        Cosmos::new(account, None, database)
    }
}

impl Cosmos {
    /// Creates a handle on a database. Requests go through `runtime`, or through the SDK's own runtime.
    pub fn new(
        account: AccountReference,
        runtime: Option<CosmosRuntime>,
        database: String,
    ) -> Arc<Self> {
        let options = CosmosOptions { account, database };
        Arc::new(Self { options, runtime, client: OnceCell::new(), session: Arc::default() })
    }

    pub(super) async fn container_client(
        &self,
        id: &'static str,
    ) -> Result<azure_data_cosmos::clients::ContainerClient, StoreError> {
        let client = self.client.get_or_try_init(|| self.connect()).await?;
        let container =
            client.database_client(&self.options.database).container_client(id, None).await;
        container.map_err(|error| StoreError::from_lookup(id, error))
    }

    pub(super) async fn host(&self) -> Result<String, StoreError> {
        let client = self.client.get_or_try_init(|| self.connect()).await?;
        Ok(client.endpoint().host_str().unwrap_or_default().to_owned())
    }

    /// Connects to the account. An account has one region (`docs/consistency.md`); where someone has added one,
    /// requests still go to the write region. [`OPERATION_TIMEOUT`] leaves room for three attempts of 6 s. A ping
    /// each second finds the dead connections of an instance that was frozen. Answers to writes come without the
    /// item. `AZURE_COSMOS_BINARY_ENCODING_ENABLED=false` is for the vNext emulator.
    async fn connect(&self) -> Result<CosmosClient, StoreError> {
        let throttling = ThrottlingRetryOptionsBuilder::new()
            .with_max_retry_wait_time(MAX_THROTTLED_WAIT)
            .build();
        let options = OperationOptionsBuilder::new()
            .with_end_to_end_latency_policy(OPERATION_TIMEOUT.into())
            .with_throttling_retry_options(throttling)
            .with_hedging_enabled(false)
            .build();
        let mut builder = CosmosClient::builder()
            .with_default_operation_options(options)
            .with_diagnostics_handler(Arc::new(MeterHandler(Arc::clone(&self.session))));
        // The account's `DataPlaneRequests` log shows which requests are the app's.
        if let Ok(suffix) = UserAgentSuffix::try_from(brand().name) {
            builder = builder.with_user_agent_suffix(suffix);
        }
        if let Some(runtime) = &self.runtime {
            builder = builder.with_runtime(runtime.clone());
        }
        let regions = RoutingStrategy::PreferredRegions(Vec::new());
        let client = builder.build(self.options.account.clone(), regions).await;
        client.map_err(StoreError::from_read)
    }
}

/// Implements `latest_committed` and `in_background` for a domain's handle with a field for each
/// [`Container`](crate::cosmos::Container): `containers!(Rooms: rooms, bookings);`
#[macro_export]
macro_rules! containers {
    ($handle:ty: $($container:ident),+ $(,)?) => {
        impl $handle {
            /// Returns the handle whose reads see the latest committed state.
            pub fn latest_committed(&self) -> Self {
                let mut handle = self.clone();
                $(handle.$container = self.$container.latest_committed();)+
                handle
            }

            /// Returns the handle for work in the background, with low priority.
            pub fn in_background(&self) -> Self {
                let mut handle = self.clone();
                $(handle.$container = self.$container.in_background();)+
                handle
            }
        }
    };
}
