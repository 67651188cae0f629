//! The public handle of the endpoint.

use std::cell::RefCell;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow, ensure};
use azure_data_cosmos::options::{ConnectionPoolOptions, ServerCertificateValidation};
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, CosmosClient, CosmosRuntime, CosmosRuntimeBuilder,
    RoutingStrategy,
};
use cosmos_store::engine::{ContainerId, Definition, EpkRange, Name, Resource, View};
use cosmos_store::http::{Server, serve};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::store::EndpointStore;
use super::{
    ContainersFile, Fault, FrozenReplica, Hold, RequestKind, StoreRequest, WELL_KNOWN_KEY,
    containers_file,
};
use crate::chaos::Chaos;

/// Options of the endpoint.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// Physical partitions of a new container, 1 to 1,000.
    pub partitions: u32,
    /// The folder that keeps everything; without it, the memory does.
    pub data: Option<PathBuf>,
    /// The interval at which expired items are removed; without it, only [`CosmosEndpoint::expire_items`] does.
    pub expiry_interval: Option<Duration>,
    /// Keeps a list of all data-plane requests, which grows without bound: for tests.
    pub keep_requests: bool,
    /// Further names under which a port may be called; `*` answers everyone, pages of other sites included.
    pub allowed_hosts: Vec<String>,
    /// Throttles requests, loses answers, reads from stale replicas and splits partitions at random.
    pub chaos: Option<Chaos>,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            partitions: 1,
            data: None,
            expiry_interval: Some(Duration::from_secs(1)),
            keep_requests: false,
            allowed_hosts: Vec::new(),
            chaos: None,
        }
    }
}

thread_local! {
    /// For all accounts of a story, which has a thread of its own: a runtime reads the certificates of the system, and
    /// that takes longer than the requests of most stories.
    static RUNTIME: RefCell<Option<CosmosRuntime>> = const { RefCell::new(None) };
}

async fn new_runtime() -> anyhow::Result<CosmosRuntime> {
    // The port needs no certificates. The probe of gateways of version 2, which the account has not, would.
    let pool = ConnectionPoolOptions::builder()
        .with_server_certificate_validation(ServerCertificateValidation::RequiredUnlessEmulator)
        .with_gateway_v2_disabled(true)
        .build()?;
    let runtime = CosmosRuntimeBuilder::new().with_connection_pool(pool).build().await;
    runtime.context("the SDK cannot make a runtime")
}

/// A Cosmos DB account of this process, which lives as long as one of its clones or servers.
#[derive(Clone, Debug)]
pub struct CosmosEndpoint {
    store: Arc<EndpointStore>,
    /// For the clients of this process.
    own_server: Arc<OnceCell<RunningServer>>,
}

impl CosmosEndpoint {
    /// Creates an account: an empty one in memory, or that of a folder.
    ///
    /// # Errors
    /// If an option is out of its range, or the folder is in use or cannot be read or written.
    pub fn new(options: EndpointOptions) -> anyhow::Result<Self> {
        let partitions = options.partitions;
        ensure!(
            (1..=1_000).contains(&partitions),
            "a container has 1 to 1,000 physical partitions, not {partitions}"
        );
        let folder = options.data.clone();
        let store = EndpointStore::new(options).with_context(|| match folder {
            Some(folder) => format!("the data in {} cannot be opened", folder.display()),
            None => "the in-memory Cosmos DB account cannot be made".to_owned(),
        })?;
        Ok(Self { store: Arc::new(store), own_server: Arc::default() })
    }

    /// Serves HTTP on `127.0.0.1:port` until the server is stopped or dropped; 0 picks a free port.
    ///
    /// # Errors
    /// If another program listens on the port, or it cannot be opened.
    pub async fn serve(&self, port: u16) -> anyhow::Result<RunningServer> {
        let store = Arc::clone(&self.store);
        let options = Arc::clone(store.service.options());
        let answer = move |request| {
            let store = Arc::clone(&store);
            async move { store.answer(request).await }
        };
        let served = serve((Ipv4Addr::LOCALHOST, port).into(), options, answer).await;
        let server = served.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => anyhow!(
                "port {port} on 127.0.0.1 is in use: stop the program that listens on it, or choose \
                 another port for the Cosmos DB endpoint (0 picks a free one)"
            ),
            _ => anyhow!("cannot listen on 127.0.0.1:{port} for the Cosmos DB endpoint: {error}"),
        })?;
        self.store.start_expiry();
        Ok(RunningServer(server))
    }

    /// Returns the account's address and key for clients of this process, and the runtime that those of a thread
    /// share: what it knows of accounts and containers. They use a port of their own.
    ///
    /// # Errors
    /// If no port can be opened, or the SDK cannot make a runtime.
    pub async fn connect(&self) -> anyhow::Result<(AccountReference, CosmosRuntime)> {
        let server = self.own_server.get_or_try_init(|| self.serve(0)).await?;
        let shared = RUNTIME.with_borrow(Clone::clone);
        let runtime = if let Some(runtime) = shared { runtime } else { new_runtime().await? };
        RUNTIME.set(Some(runtime.clone()));
        Ok((server.account()?, runtime))
    }

    /// Creates a client for this account.
    pub async fn client(&self) -> anyhow::Result<CosmosClient> {
        let (account, runtime) = self.connect().await?;
        CosmosClient::builder()
            .with_runtime(runtime)
            .build(account, RoutingStrategy::PreferredRegions(Vec::new()))
            .await
            .context("the SDK cannot make a client for the local account")
    }

    /// Creates the database and the containers that do not exist yet.
    pub async fn provision(
        &self,
        database: &str,
        containers: &ContainersFile,
    ) -> anyhow::Result<()> {
        let engine = self.store.service.engine();
        is_new(engine.create_database(&json!({"id": database}), None).await)?;
        let partitions = self.store.service.options().partitions;
        for container in containers.containers() {
            let (parent, json) = (Name::Id(database), serde_json::to_value(container)?);
            let created = engine.create_container(parent, &json, partitions, None).await;
            let is_new = is_new(created)
                .with_context(|| format!("the container '{}' cannot be made", container.id))?;
            if !is_new {
                let found = self.definition(database, &container.id)?;
                containers_file::check_key(container, &Deserialize::deserialize(&found)?)?;
            }
        }
        Ok(())
    }

    /// Returns the number of data-plane requests since the start: reads and writes of items, batches, pages of
    /// queries and of the change feed. Metadata do not count.
    pub fn request_count(&self) -> usize {
        self.store.requests.count()
    }

    /// Returns the kept data-plane requests, oldest first.
    pub fn requests(&self) -> Vec<StoreRequest> {
        self.requests_since(0)
    }

    /// Returns the kept data-plane requests after the first `n_before`, as [`CosmosEndpoint::request_count`] counts.
    pub fn requests_since(&self, n_before: usize) -> Vec<StoreRequest> {
        self.store.requests.since(n_before)
    }

    /// Takes the kept data-plane requests out of the list.
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

    /// Freezes the present state of a container: until the returned value is dropped, point reads and queries see
    /// it, unless their session token names a newer write, or they ask for the latest committed state.
    pub fn freeze_replica(&self, container: &str) -> FrozenReplica {
        self.store.replicas.freeze(container)
    }

    /// Splits the first physical partition of a container, and returns after the split.
    ///
    /// # Errors
    /// If there is no such container, or its first partition is as small as one can be.
    pub async fn split(&self, database: &str, container: &str) -> anyhow::Result<()> {
        let (view, container, _) = self.find(database, container)?;
        let first = view.partitions(container).first().map(|partition| partition.id);
        Ok(self.store.service.engine().split(container, first.unwrap_or_default()).await?)
    }

    /// Returns all items of a container in their latest state, without a request.
    ///
    /// # Errors
    /// If there is no such container.
    pub fn items(&self, database: &str, container: &str) -> anyhow::Result<Vec<Value>> {
        let (view, container, _) = self.find(database, container)?;
        let items = view.scan(container, &EpkRange::all(), None);
        items.map(|item| Ok(serde_json::from_slice(&item.body)?)).collect()
    }

    /// Returns the definition of a container, as the store answers it.
    ///
    /// # Errors
    /// If there is no such container.
    pub fn definition(&self, database: &str, container: &str) -> anyhow::Result<Value> {
        let (.., definition) = self.find(database, container)?;
        Ok(definition.json.clone())
    }

    fn find(
        &self,
        database: &str,
        container: &str,
    ) -> anyhow::Result<(View, ContainerId, Arc<Definition>)> {
        let view = self.store.service.engine().view();
        let found = view.container(Name::Id(database), Name::Id(container));
        let (id, definition) =
            found.with_context(|| format!("there is no container {container} in {database}"))?;
        Ok((view, id, definition))
    }

    /// Returns the number of items of all containers.
    pub(crate) fn n_items(&self) -> usize {
        let view = self.store.service.engine().view();
        let databases = view.databases();
        let containers =
            databases.iter().flat_map(|database| view.containers(Name::Rid(&database.rid)));
        containers.map(|(container, _)| view.item_count(container)).sum()
    }

    /// Removes the items whose time to live ends before `now`, and returns their number. A test passes
    /// a later time instead of waiting for it.
    pub async fn expire_items(&self, now: SystemTime) -> usize {
        self.store.expire_items(now).await
    }
}

/// Returns false if what was to be created is there.
fn is_new(created: cosmos_store::Result<Resource>) -> cosmos_store::Result<bool> {
    match created {
        Err(refusal) if refusal.status == 409 => Ok(false),
        created => created.map(|_| true),
    }
}

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub struct RunningServer(Server);

impl RunningServer {
    /// Returns the account endpoint, such as `http://127.0.0.1:8081/`.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Returns the connection string for the setting of a Functions trigger or an SDK.
    pub fn connection_string(&self) -> String {
        format!("AccountEndpoint={};AccountKey={WELL_KNOWN_KEY};", self.url())
    }

    /// Returns the address and key for a Rust client that connects over the socket.
    pub fn account(&self) -> anyhow::Result<AccountReference> {
        let url: AccountEndpoint = self.url().parse()?;
        Ok(AccountReference::with_authentication_key(url, WELL_KNOWN_KEY))
    }

    /// Stops listening, gives requests under way two seconds to end, and closes the connections.
    pub async fn stop(self) {
        self.0.stop().await;
    }
}
