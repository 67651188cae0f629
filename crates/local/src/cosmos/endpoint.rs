//! The handle that others hold.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use azure_data_cosmos::{
    AccountEndpoint, AccountReference, CosmosClient, CosmosRuntime, RoutingStrategy,
};

use super::{
    Charges, ContainersFile, EndpointError, Fault, FrozenReplica, Hold, RequestKind, RunningServer,
    StoreRequest, WELL_KNOWN_KEY, account::REGION, in_process, provision, replicas, server,
    store::Store,
};
use crate::chaos::Chaos;

/// How the endpoint behaves.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// Physical partitions of a new container, 1 to 1,000.
    pub partitions: u32,
    /// How often items whose time to live is over are removed; `None` only when
    /// [`CosmosEndpoint::expire_items`] is called.
    pub expiry_interval: Option<Duration>,
    /// Keeps a list of all data-plane requests for [`CosmosEndpoint::requests`]. The list grows
    /// without bound, so this is for tests.
    pub keep_requests: bool,
    /// Where the charges of requests come from.
    pub charges: Charges,
    /// Throttles, loses answers, reads from stale replicas and splits partitions by chance.
    pub chaos: Option<Chaos>,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            partitions: 1,
            expiry_interval: Some(Duration::from_secs(1)),
            keep_requests: false,
            charges: Charges::default(),
            chaos: None,
        }
    }
}

/// An in-memory Cosmos DB account. A clone is another handle to the same account, and the data
/// lives as long as a handle, a server or a client's runtime does.
#[derive(Clone, Debug)]
pub struct CosmosEndpoint {
    store: Arc<Store>,
    expiry: Arc<ExpiryTask>,
}

#[derive(Debug)]
struct ExpiryTask {
    interval: Option<Duration>,
    started: AtomicBool,
}

impl CosmosEndpoint {
    /// Makes an empty account in this process, without a socket.
    ///
    /// # Errors
    ///
    /// [`EndpointError::Option`] when an option is out of its range.
    pub fn in_process(options: EndpointOptions) -> Result<Self, EndpointError> {
        let EndpointOptions { partitions, expiry_interval, keep_requests, charges, chaos } =
            options;
        if !(1..=1_000).contains(&partitions) {
            return Err(EndpointError::Option(format!(
                "a container has 1 to 1,000 physical partitions, not {partitions}"
            )));
        }
        let store = Store::new(partitions, keep_requests, chaos, charges)
            .map_err(EndpointError::cosmos("the in-memory Cosmos DB account cannot be made"))?;
        Ok(Self {
            store: Arc::new(store),
            expiry: Arc::new(ExpiryTask {
                interval: expiry_interval,
                started: AtomicBool::new(false),
            }),
        })
    }

    /// Serves HTTP/1.1 and HTTP/2 (with prior knowledge) on `127.0.0.1:port` until the answer is
    /// stopped or dropped; 0 picks a free port.
    ///
    /// # Errors
    ///
    /// [`EndpointError::PortInUse`] and [`EndpointError::Listen`].
    pub async fn serve(&self, port: u16) -> Result<RunningServer, EndpointError> {
        let server = server::serve(Arc::clone(&self.store), port).await?;
        self.start_expiry();
        Ok(server)
    }

    /// A runtime for `CosmosClient::builder().with_runtime(..)`: a client with it and with
    /// [`CosmosEndpoint::account`] reaches this account without a socket.
    ///
    /// # Errors
    ///
    /// [`EndpointError::Cosmos`] when the SDK cannot make a runtime.
    pub async fn runtime(&self) -> Result<CosmosRuntime, EndpointError> {
        self.start_expiry();
        in_process::runtime(Arc::clone(&self.store)).await.map_err(EndpointError::cosmos(
            "the SDK cannot make a runtime for the in-memory account",
        ))
    }

    /// The account's address and key, for clients that use [`CosmosEndpoint::runtime`].
    pub fn account(&self) -> AccountReference {
        AccountReference::with_authentication_key(
            AccountEndpoint::from(self.store.base_url().clone()),
            WELL_KNOWN_KEY,
        )
    }

    /// A client of its own for this account, without a socket.
    ///
    /// # Errors
    ///
    /// [`EndpointError::Cosmos`] when the SDK cannot make a client.
    pub async fn client(&self) -> Result<CosmosClient, EndpointError> {
        let routing = RoutingStrategy::PreferredRegions(vec![REGION.into()]);
        CosmosClient::builder()
            .with_runtime(self.runtime().await?)
            .build(self.account(), routing)
            .await
            .map_err(EndpointError::cosmos(
                "the SDK cannot make a client for the in-memory account",
            ))
    }

    /// Makes the database and the containers, those that are not there.
    ///
    /// # Errors
    ///
    /// As [`provision()`](super::provision()).
    pub async fn provision(
        &self,
        database: &str,
        containers: &ContainersFile,
    ) -> Result<(), EndpointError> {
        provision::provision(&self.client().await?, database, containers).await
    }

    /// Number of data-plane requests since the start: reads and writes of items, batches, pages
    /// of queries and of the change feed. Metadata (account, containers, partition key ranges,
    /// query plans) and this endpoint's own requests do not count.
    pub fn request_count(&self) -> usize {
        self.store.requests.count()
    }

    /// The data-plane requests since the start, oldest first; empty unless
    /// [`EndpointOptions::keep_requests`] is set.
    pub fn requests(&self) -> Vec<StoreRequest> {
        self.requests_since(0)
    }

    /// The data-plane requests since [`CosmosEndpoint::request_count`] was `mark`; empty unless
    /// [`EndpointOptions::keep_requests`] is set.
    pub fn requests_since(&self, mark: usize) -> Vec<StoreRequest> {
        self.store.requests.since(mark)
    }

    /// The data-plane requests that are kept, which are then kept no longer; empty unless
    /// [`EndpointOptions::keep_requests`] is set.
    pub fn take_requests(&self) -> Vec<StoreRequest> {
        self.store.requests.take()
    }

    /// Lets the next `times` requests of a kind to a container meet a fault, for tests.
    pub fn inject(&self, fault: Fault, kind: RequestKind, container: &str, times: usize) {
        self.store.faults.add(fault, kind, container, times);
    }

    /// Holds the next request of a kind to a container back, for tests that let something happen in
    /// the middle of an operation.
    pub fn hold(&self, kind: RequestKind, container: &str) -> Hold {
        self.store.holds.add(kind, container)
    }

    /// Freezes a container as it is now, for clients that do not know better: until the answer is
    /// dropped, point reads and queries of it see this state. A request sees the newest state
    /// when its session token names a newer write to that physical partition, so a client always
    /// sees its own writes, or when it asks for the latest committed state. Writes act on the
    /// newest state, with their preconditions, and so does the change feed.
    ///
    /// # Panics
    ///
    /// When a physical partition splits at this moment, as chaos may want.
    pub fn freeze_replica(&self, container: &str) -> FrozenReplica {
        replicas::freeze(&self.store.replicas, container)
    }

    /// Removes the items whose time to live is over at `now`, and tells how many. A test gives a
    /// time to come instead of waiting for it.
    pub async fn expire_items(&self, now: SystemTime) -> usize {
        self.store.expire_items(now).await
    }

    /// Starts the removal of items that are over, once. It ends with the account.
    fn start_expiry(&self) {
        let Some(interval) = self.expiry.interval else {
            return;
        };
        if self.expiry.started.swap(true, Ordering::Relaxed) {
            return;
        }
        let store = Arc::downgrade(&self.store);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                let Some(store) = store.upgrade() else {
                    return;
                };
                store.expire_items(SystemTime::now()).await;
            }
        });
    }
}
