//! The store: a backend and what this module adds to it.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use azure_core::http::{Method, Request, Url};
use azure_data_cosmos::CosmosError;
use serde_json::Value;
use tokio::sync::Mutex;

use super::{
    account,
    backend::{Backend, Region},
    changes,
    charge::{Charges, Ledger},
    containers::Containers,
    create_container,
    dialects::{strip_trailing_slash, wrap_bare_patch},
    emulator::Emulator,
    expiry::Expiry,
    faults::{Fault, Faults},
    holds::Holds,
    lagging::Lagging,
    operation::{ContainerPath, ContainersChange, Operation, PARTITION_KEY, RequestKind},
    pages,
    replicas::{self, Replicas},
    requests::{RequestLog, StoreAnswer, StoreRequest},
    rids,
    slices::ITEM_COUNT,
    splits::Splits,
    written::body_of,
};
use crate::chaos::{Chaos, Kind};

/// The one region of the account.
pub(super) const REGION: &str = "East US";

/// Where the backend believes itself to be. Requests are addressed to it whatever socket they
/// came from, and the Rust SDK accepts plain HTTP for this host.
const BASE_URL: &str = "http://localhost:8081/";

pub(super) use super::backend::Response;

/// The in-memory account.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) requests: RequestLog,
    pub(super) partitions: u32,
    pub(super) faults: Faults,
    pub(super) holds: Holds,
    pub(super) replicas: Replicas,
    pub(super) containers: Containers,
    base_url: Url,
    expiry: Expiry,
    /// What requests cost; without it they cost what the emulator says.
    ledger: Option<Ledger>,
    splits: Option<Splits>,
    /// Held while a container is made, replaced or deleted: making one takes several steps.
    control_plane: Mutex<()>,
}

impl Store {
    pub(super) fn new(
        partitions: u32,
        keep_requests: bool,
        chaos: Option<Chaos>,
        charges: Charges,
    ) -> Result<Self, CosmosError> {
        let base_url = Url::parse(BASE_URL)
            .map_err(|error| CosmosError::builder().with_message(error.to_string()).build())?;
        let lagging = Lagging::of(chaos.as_ref(), &base_url);
        let mut regions = vec![Region { name: REGION.to_owned(), url: base_url.clone() }];
        regions.extend(lagging.iter().flat_map(Lagging::replicas).cloned());
        let backend: Arc<dyn Backend> = Arc::new(Emulator::new(&regions)?);
        Ok(Self {
            replicas: Replicas::new(Arc::clone(&backend), base_url.clone(), lagging),
            backend,
            containers: Containers::default(),
            requests: RequestLog::new(keep_requests),
            partitions,
            splits: chaos.clone().map(Splits::new),
            faults: Faults::new(chaos),
            holds: Holds::default(),
            base_url,
            expiry: Expiry::default(),
            ledger: (charges == Charges::Model).then(Ledger::default),
            control_plane: Mutex::new(()),
        })
    }

    /// The address that every request given to [`Store::execute`] carries.
    pub(super) fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// Answers a client's request. All clients come through here, from a socket or not.
    pub(super) async fn execute(&self, mut request: Request) -> Result<Response, CosmosError> {
        strip_trailing_slash(request.url_mut());
        rids::replace_by_names(self, &mut request).await;
        let operation = Operation::of(&request);
        wrap_bare_patch(&operation, &mut request);
        let mut response = match operation {
            Operation::Data { kind, container, item } => {
                let place = self.requests.add(|| StoreRequest::new(kind, &container, &request));
                self.holds.wait(kind, &container.container).await;
                let mut response = self.execute_data(kind, &container, item, &request).await?;
                self.containers.name(self, &container, &mut response).await;
                self.requests.answered(place, || StoreAnswer::new(kind, &response));
                response
            }
            Operation::Containers(change) => self.change_containers(change, &request).await?,
            Operation::Metadata if request.url().path() == "/" => {
                account::shown(self.send(&request).await?)
            }
            Operation::Metadata => self.send(&request).await?,
        };
        if response.status == 304 && response.headers.get_optional_str(&ITEM_COUNT).is_none() {
            // The .NET SDK reads it also where there is nothing new.
            response.headers.insert(ITEM_COUNT, "0");
        }
        Ok(response)
    }

    /// Answers a request of the data plane, with the faults that it is to meet.
    async fn execute_data(
        &self,
        kind: RequestKind,
        container: &ContainerPath,
        item: Option<String>,
        request: &Request,
    ) -> Result<Response, CosmosError> {
        let met = self.faults.take(kind, &container.container);
        if let Some(met) = met
            && met.fault != Fault::AnswerLost
        {
            return Ok(met.answer());
        }
        self.expiry.learn(kind, container, item.clone(), request, SystemTime::now());
        let response = if kind.is_write() {
            let _writes = self.replicas.write().await;
            self.charged(kind, container, item.as_deref(), request).await
        } else {
            self.read(kind, container, item.as_deref(), request).await
        };
        if let Some(splits) = &self.splits
            && kind.is_write()
        {
            splits.after_write(&self.backend, &self.replicas, container).await;
        }
        met.map_or(response, |met| Ok(met.answer()))
    }

    /// Answers a read from a replica that is behind, where there is one that the request accepts,
    /// and otherwise from the newest state.
    async fn read(
        &self,
        kind: RequestKind,
        container: &ContainerPath,
        item: Option<&str>,
        request: &Request,
    ) -> Result<Response, CosmosError> {
        let candidates = self.replicas.of(kind, &container.container, request).await;
        if let (Some(chaos), [_, ..]) = (candidates.by_chance, &candidates.replicas[..]) {
            chaos.note_read_of_replica();
        }
        for replica in &candidates.replicas {
            let behind = replica.request(request);
            let mut response = self.charged(kind, container, item, &behind).await?;
            if !replicas::is_usable(&response) {
                continue;
            }
            replicas::hide_replica(&mut response);
            if let Some(chaos) = candidates.by_chance {
                let newest = self.answer(kind, container, request).await?;
                if (newest.status, &newest.body) != (response.status, &response.body) {
                    chaos.note(
                        Kind::Stale,
                        format_args!("{kind:?} in {} at {}", container.container, replica.name),
                    );
                }
            }
            return Ok(response);
        }
        self.charged(kind, container, item, request).await
    }

    /// Has the backend answer a data-plane request, and says what it costs.
    async fn charged(
        &self,
        kind: RequestKind,
        container: &ContainerPath,
        item: Option<&str>,
        request: &Request,
    ) -> Result<Response, CosmosError> {
        match &self.ledger {
            Some(ledger) => ledger.send(self, kind, container, item, request).await,
            None => self.answer(kind, container, request).await,
        }
    }

    async fn change_containers(
        &self,
        change: ContainersChange,
        request: &Request,
    ) -> Result<Response, CosmosError> {
        let _alone = self.control_plane.lock().await;
        let response = match &change {
            ContainersChange::Create { database } => {
                create_container::create_container(self, database, request).await?
            }
            _ => self.send(request).await?,
        };
        if !matches!(response.status, 200..=299) {
            return Ok(response);
        }
        let mut response = response;
        match change {
            ContainersChange::Create { database }
            | ContainersChange::Replace(ContainerPath { database, .. }) => {
                self.expiry.container_written(&database, request);
                if let Some(ledger) = &self.ledger {
                    ledger.container_written(&database, request);
                }
                if let Some(container) = written_id(request) {
                    let path = ContainerPath { database, container };
                    self.containers.forget(|one| *one == path);
                    self.containers.name(self, &path, &mut response).await;
                }
            }
            ContainersChange::Delete(path) => self.forget(|one| *one == path),
            ContainersChange::DeleteDatabase { database } => {
                self.forget(|one| one.database == database);
            }
        }
        Ok(response)
    }

    fn forget(&self, gone: impl Fn(&ContainerPath) -> bool) {
        self.expiry.forget(&gone);
        self.containers.forget(&gone);
        if let Some(ledger) = &self.ledger {
            ledger.forget(gone);
        }
    }

    /// Deletes the items whose time to live is over at `now`, and tells how many.
    pub(super) async fn expire_items(&self, now: SystemTime) -> usize {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        self.expiry.sweep(self, now).await
    }

    /// A request of this module's own, for the resource at `path` (names, not yet encoded).
    pub(super) fn request(&self, method: Method, path: &[&str]) -> Request {
        let mut url = self.base_url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        Request::new(url, method)
    }

    /// Has the backend answer a data-plane request.
    pub(super) async fn answer(
        &self,
        kind: RequestKind,
        container: &ContainerPath,
        request: &Request,
    ) -> Result<Response, CosmosError> {
        match kind {
            RequestKind::Query | RequestKind::ReadFeed => {
                pages::page(self, kind, container, request).await
            }
            RequestKind::ChangeFeed => changes::page(self, container, request).await,
            _ => self.send(request).await,
        }
    }

    /// Asks the backend directly: nothing is counted or learned.
    pub(super) async fn send(&self, request: &Request) -> Result<Response, CosmosError> {
        self.backend.send(request).await
    }
}

impl ContainerPath {
    /// The segments of the path of an item in this container.
    pub(super) fn item<'a>(&'a self, id: &'a str) -> [&'a str; 6] {
        ["dbs", &self.database, "colls", &self.container, "docs", id]
    }
}

/// The id in the body of a request that makes or replaces a container.
fn written_id(request: &Request) -> Option<String> {
    let body: Value = serde_json::from_slice(&body_of(request)).ok()?;
    body.get("id")?.as_str().map(str::to_owned)
}

pub(super) fn names_partition_key(request: &Request) -> bool {
    request.headers().get_optional_str(&PARTITION_KEY).is_some_and(|key| key != "[]")
}
