//! The public handle of the endpoint.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow, ensure};
use async_trait::async_trait;
use axum::serve::ListenerExt;
use azure_core::http::Request;
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, CosmosClient, CosmosRuntime, CosmosRuntimeBuilder,
    RoutingStrategy,
};
use azure_data_cosmos_driver::diagnostics::RequestSentStatus;
use azure_data_cosmos_driver::test::{
    ConnectionPoolOptions, HttpClientConfig, HttpClientFactory, HttpRequest, HttpResponse,
    TransportClient, TransportError,
};
use azure_data_cosmos_driver::{CosmosDriverRuntimeBuilder, CosmosError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::account::REGION;
use super::emulator::Response;
use super::operation::ContainerPath;
use super::store::EndpointStore;
use super::{
    Charges, ContainersFile, Fault, FrozenReplica, Hold, RequestKind, StoreRequest, WELL_KNOWN_KEY,
    containers_file, gateway, replicas,
};
use crate::chaos::Chaos;

/// Options of the endpoint.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// Physical partitions of a new container, 1 to 1,000.
    pub partitions: u32,
    /// The interval at which expired items are removed; with `None` only
    /// [`CosmosEndpoint::expire_items`] removes them.
    pub expiry_interval: Option<Duration>,
    /// Keeps a list of all data-plane requests for [`CosmosEndpoint::requests`]. The list grows
    /// without bound, so this is for tests.
    pub keep_requests: bool,
    /// Source of the charges of requests.
    pub charges: Charges,
    /// Names besides those of the loopback interface under which a served port may be called; `*` answers
    /// everyone, pages of other sites included.
    pub allowed_hosts: Vec<String>,
    /// Throttles requests, loses answers, reads from stale replicas and splits partitions at random.
    pub chaos: Option<Chaos>,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            partitions: 1,
            expiry_interval: Some(Duration::from_secs(1)),
            keep_requests: false,
            charges: Charges::default(),
            allowed_hosts: Vec::new(),
            chaos: None,
        }
    }
}

/// An in-memory Cosmos DB account. A clone is another handle to the same account, and the data
/// lives as long as a handle, a server or a client's runtime does.
#[derive(Clone, Debug)]
pub struct CosmosEndpoint {
    pub(super) store: Arc<EndpointStore>,
}

impl CosmosEndpoint {
    /// Creates an empty account in this process, without a socket.
    ///
    /// # Errors
    /// If an option is out of its range.
    pub fn in_process(options: EndpointOptions) -> anyhow::Result<Self> {
        let partitions = options.partitions;
        ensure!(
            (1..=1_000).contains(&partitions),
            "a container has 1 to 1,000 physical partitions, not {partitions}"
        );
        let store = EndpointStore::new(options)
            .context("the in-memory Cosmos DB account cannot be made")?;
        Ok(Self { store: Arc::new(store) })
    }

    /// Serves HTTP/1.1 and HTTP/2 (with prior knowledge) on `127.0.0.1:port` until the server is
    /// stopped or dropped; 0 picks a free port.
    ///
    /// # Errors
    /// If another program listens on the port, or it cannot be opened.
    pub async fn serve(&self, port: u16) -> anyhow::Result<RunningServer> {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = bound.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => anyhow!(
                "port {port} on 127.0.0.1 is in use: stop the program that listens on it, or choose \
                 another port for the Cosmos DB endpoint (0 picks a free one)"
            ),
            _ => anyhow!("cannot listen on 127.0.0.1:{port} for the Cosmos DB endpoint: {error}"),
        })?;
        let address = listener.local_addr()?;
        // Small answers would otherwise wait for the client's delayed acknowledgement.
        let listener = listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY cannot be set");
            }
        });

        let app = gateway::router(Arc::clone(&self.store), url_of(address));
        let (shutdown, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let served = axum::serve(listener, app)
                .with_graceful_shutdown(async move {
                    // The sender is never used, only dropped.
                    let _ = stopped.await;
                })
                .await;
            if let Err(error) = served {
                tracing::error!(%error, "the Cosmos DB endpoint stopped");
            }
        });
        self.store.start_expiry();
        Ok(RunningServer { address, shutdown, task })
    }

    /// Creates a runtime for `CosmosClient::builder().with_runtime(..)`. A client with it and with
    /// [`CosmosEndpoint::account`] reaches this account without a socket.
    pub async fn runtime(&self) -> anyhow::Result<CosmosRuntime> {
        self.store.start_expiry();
        let transport = Transport { store: Arc::clone(&self.store) };
        let driver =
            CosmosDriverRuntimeBuilder::new().with_mock_http_client_factory(Arc::new(transport));
        let runtime = CosmosRuntimeBuilder::from(driver).build().await;
        runtime.context("the SDK cannot make a runtime for the in-memory account")
    }

    /// Returns the account's address and key, for clients that use [`CosmosEndpoint::runtime`].
    pub fn account(&self) -> AccountReference {
        AccountReference::with_authentication_key(
            AccountEndpoint::from(self.store.base_url().clone()),
            WELL_KNOWN_KEY,
        )
    }

    /// Creates a client for this account, without a socket.
    pub async fn client(&self) -> anyhow::Result<CosmosClient> {
        let routing = RoutingStrategy::PreferredRegions(vec![REGION.into()]);
        CosmosClient::builder()
            .with_runtime(self.runtime().await?)
            .build(self.account(), routing)
            .await
            .context("the SDK cannot make a client for the in-memory account")
    }

    /// Creates the database and the containers that do not exist yet.
    ///
    /// # Errors
    /// Those of [`provision()`](super::provision()).
    pub async fn provision(
        &self,
        database: &str,
        containers: &ContainersFile,
    ) -> anyhow::Result<()> {
        containers_file::provision(&self.client().await?, database, containers).await
    }

    /// Returns the number of data-plane requests since the start: reads and writes of items, batches,
    /// pages of queries and of the change feed. Metadata (account, containers, partition key ranges,
    /// query plans) and this endpoint's own requests do not count.
    pub fn request_count(&self) -> usize {
        self.store.requests.count()
    }

    /// Returns the data-plane requests since the start, oldest first; none unless
    /// [`EndpointOptions::keep_requests`] is set.
    pub fn requests(&self) -> Vec<StoreRequest> {
        self.requests_since(0)
    }

    /// Returns the data-plane requests after the first `n_before`, a number of
    /// [`CosmosEndpoint::request_count`]; none unless [`EndpointOptions::keep_requests`] is set.
    pub fn requests_since(&self, n_before: usize) -> Vec<StoreRequest> {
        self.store.requests.since(n_before)
    }

    /// Takes the data-plane requests out of the list; none unless [`EndpointOptions::keep_requests`] is
    /// set.
    pub fn take_requests(&self) -> Vec<StoreRequest> {
        self.store.requests.take()
    }

    /// Makes the next `times` requests of a kind to a container fail with a fault, for tests.
    pub fn inject(&self, fault: Fault, kind: RequestKind, container: &str, times: usize) {
        self.store.faults.add(fault, kind, container, times);
    }

    /// Holds back the next request of a kind to a container, for tests of interleavings.
    pub fn hold(&self, kind: RequestKind, container: &str) -> Hold {
        self.store.holds.add(kind, container)
    }

    /// Freezes the present state of a container for reads: until the returned value is dropped, point
    /// reads and queries see this state.
    ///
    /// A request sees the newest state if its session token names a newer write to that physical
    /// partition, so a client always sees its own writes. It also sees the newest state if it asks for
    /// the latest committed state. Writes act on the newest state, with their preconditions, and so
    /// does the change feed.
    ///
    /// # Panics
    /// If a physical partition splits at this moment, which chaos can cause.
    pub fn freeze_replica(&self, container: &str) -> FrozenReplica {
        replicas::freeze(&self.store.replicas, container)
    }

    /// Splits the first physical partition of a container, and returns after the split.
    pub async fn split(&self, database: &str, container: &str) {
        let (database, container) = (database.to_owned(), container.to_owned());
        self.store.split(&ContainerPath { database, container }).await;
    }

    /// Removes the items whose time to live ends before `now`, and returns their number. A test passes
    /// a later time instead of waiting for it.
    pub async fn expire_items(&self, now: SystemTime) -> usize {
        self.store.expire_items(now).await
    }
}

/// The factory that the SDK asks for, and the one client that it makes.
#[derive(Clone, Debug)]
struct Transport {
    store: Arc<EndpointStore>,
}

impl HttpClientFactory for Transport {
    fn build(
        &self,
        _connection_pool: &ConnectionPoolOptions,
        _config: HttpClientConfig,
    ) -> Result<Arc<dyn TransportClient>, CosmosError> {
        Ok(Arc::new(self.clone()))
    }
}

#[async_trait]
impl TransportClient for Transport {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let mut core = Request::new(request.url.clone(), request.method);
        *core.headers_mut() = request.headers.clone();
        if let Some(body) = &request.body {
            core.set_body(body.clone());
        }
        let answered = self.store.execute(core).await;
        let Response { status, headers, body, .. } =
            answered.map_err(|error| TransportError::new(error, RequestSentStatus::Unknown))?;
        Ok(HttpResponse { status, headers, body: body.to_vec() })
    }
}

const STOP_GRACE: Duration = Duration::from_secs(2);

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub struct RunningServer {
    address: SocketAddr,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl RunningServer {
    /// Returns the account endpoint, such as `http://127.0.0.1:8081/`.
    pub fn url(&self) -> String {
        url_of(self.address)
    }

    /// Returns the connection string for the setting of a Functions trigger or an SDK.
    pub fn connection_string(&self) -> String {
        format!("AccountEndpoint={};AccountKey={WELL_KNOWN_KEY};", self.url())
    }

    /// Returns the address and key for a Rust client that connects over the socket.
    ///
    /// # Errors
    /// Never for the addresses that this server listens on.
    pub fn account(&self) -> anyhow::Result<AccountReference> {
        let url: AccountEndpoint = self.url().parse()?;
        Ok(AccountReference::with_authentication_key(url, WELL_KNOWN_KEY))
    }

    /// Stops listening, gives requests under way two seconds to end, and closes the connections.
    pub async fn stop(self) {
        let Self { shutdown, mut task, .. } = self;
        drop(shutdown);
        if timeout(STOP_GRACE, &mut task).await.is_err() {
            task.abort();
        }
    }
}

fn url_of(address: SocketAddr) -> String {
    format!("http://{address}/")
}
