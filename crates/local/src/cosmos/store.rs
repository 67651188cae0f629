//! The store: a backend with the additions of this module.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use azure_core::http::{Method, Request, Url};
use azure_data_cosmos::CosmosError;
use futures::poll;
use serde_json::Value;
use tokio::sync::Mutex;

use super::EndpointOptions;
use super::account::{Account, BASE_URL, REGION, for_clients};
use super::charge::{self, Charges};
use super::containers::{ContainerInfo, KnownContainers, create_container};
use super::emulator::{Emulator, Region, Response, failure};
use super::expiry::Expiry;
use super::faults::{Fault, Faults, Holds};
use super::feed_order::FeedOrders;
use super::operation::{
    ContainerPath, ContainersChange, DataRequest, PARTITION_KEY, RequestKind, StoreOperation,
    WrittenItem, body_of, strip_trailing_slash, wrap_bare_patch, written_items,
};
use super::replicas::{self, Lagging, Replicas, Splits};
use super::requests::{RequestLog, StoreAnswer, StoreRequest};
use super::slices::ITEM_COUNT;
use super::{changes, gateway, key_prefix, pages, refused};
use crate::chaos::ChaosKind;
use crate::lock;

#[derive(Debug)]
pub(super) struct EndpointStore {
    pub(super) requests: RequestLog,
    pub(super) faults: Faults,
    pub(super) holds: Holds,
    pub(super) replicas: Arc<Replicas>,
    pub(super) account: Account,
    pub(super) allowed_hosts: Vec<String>,
    pub(super) containers: KnownContainers,
    /// The number of physical partitions of a new container.
    partitions: u32,
    expiry: Expiry,
    expiry_interval: Option<Duration>,
    /// True if a task removes expired items.
    expires: AtomicBool,
    charges: Charges,
    splits: Option<Splits>,
    /// The number of writes to each container, those of the expiry not counted.
    writes: std::sync::Mutex<HashMap<ContainerPath, u64>>,
    pub(super) feed_orders: FeedOrders,
    /// Held while a container is created, replaced or deleted: a creation takes several steps.
    control_plane: Mutex<()>,
}

impl EndpointStore {
    pub(super) fn new(options: EndpointOptions) -> Result<Self, CosmosError> {
        let EndpointOptions {
            partitions,
            expiry_interval,
            keep_requests,
            charges,
            allowed_hosts,
            chaos,
        } = options;
        let base_url = Url::parse(BASE_URL).map_err(failure)?;
        let lagging = Lagging::from_chaos(chaos.as_ref(), &base_url);
        let mut regions = vec![Region { name: REGION.to_owned(), url: base_url.clone() }];
        regions.extend(lagging.iter().flat_map(|lagging| lagging.replicas.iter().cloned()));
        let account = Account { backend: Arc::new(Emulator::new(&regions)?), base_url };
        Ok(Self {
            replicas: Arc::new(Replicas::new(account.clone(), lagging)),
            containers: KnownContainers {
                account: account.clone(),
                known: std::sync::Mutex::default(),
            },
            account,
            allowed_hosts,
            requests: RequestLog::new(keep_requests),
            partitions,
            expiry_interval,
            expires: AtomicBool::new(false),
            splits: chaos.clone().map(Splits::new),
            faults: Faults { chaos, pending: std::sync::Mutex::default() },
            holds: Holds::default(),
            expiry: Expiry::default(),
            charges,
            writes: std::sync::Mutex::default(),
            feed_orders: FeedOrders::default(),
            control_plane: Mutex::new(()),
        })
    }

    pub(super) fn writes_to(&self, container: &ContainerPath) -> u64 {
        lock(&self.writes).get(container).copied().unwrap_or_default()
    }

    /// Starts the task that removes expired items, once. It ends with the account.
    pub(super) fn start_expiry(self: &Arc<Self>) {
        let Some(interval) = self.expiry_interval else { return };
        if self.expires.swap(true, Ordering::Relaxed) {
            return;
        }
        let store = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                let Some(store) = store.upgrade() else { return };
                store.expire_items(SystemTime::now()).await;
            }
        });
    }

    /// Creates or replaces an item, as a client does. Returns the status.
    pub(super) async fn upsert(
        self: &Arc<Self>,
        container: &ContainerPath,
        partition_key: &Value,
        item: &Value,
    ) -> Result<u16, CosmosError> {
        let path = ["dbs", &container.database, "colls", &container.container, "docs"];
        let mut request = self.account.request(Method::Post, &path);
        request.insert_header(PARTITION_KEY, partition_key.to_string());
        request.insert_header("x-ms-documentdb-is-upsert", "true");
        request.insert_header("content-type", "application/json");
        request.set_body(item.to_string());
        Ok(self.execute(request).await?.status)
    }

    pub(super) fn base_url(&self) -> &Url {
        &self.account.base_url
    }

    pub(super) async fn execute(
        self: &Arc<Self>,
        mut request: Request,
    ) -> Result<Response, CosmosError> {
        strip_trailing_slash(request.url_mut());
        gateway::replace_by_names(&self.account, &mut request).await;
        let operation = StoreOperation::from_request(&request);
        wrap_bare_patch(&operation, &mut request);
        let body = match refused::check(&operation, &request) {
            Ok(body) => body,
            Err(refused) => return Ok(refused),
        };
        let rewrite = |request: &mut Request| {
            if let Some(body) = body {
                request.set_body(body);
            }
        };
        let mut response = match operation {
            StoreOperation::Data { kind, container, item } => {
                if matches!(
                    kind,
                    RequestKind::Query | RequestKind::ReadFeed | RequestKind::ChangeFeed
                ) && let Some(known) = self.containers.get(&container).await
                {
                    key_prefix::narrow(&mut request, &known.partition_key.paths);
                }
                let place = self.requests.add(|| StoreRequest::new(kind, &container, &request));
                rewrite(&mut request);
                self.holds.wait(kind, &container.container).await;
                let (store, path) = (Arc::clone(self), container.clone());
                let answered = async move {
                    let (container, item, request) = (&path, item.as_deref(), &request);
                    store.execute_data(DataRequest { kind, container, item, request }).await
                };
                let mut response = to_its_end(answered).await?;
                self.containers.name(&container, &mut response).await;
                self.requests.answered(place, || StoreAnswer::new(kind, &response));
                response
            }
            StoreOperation::Containers(change) => self.change_containers(change, &request).await?,
            StoreOperation::Metadata if request.url().path() == "/" => {
                for_clients(self.account.send(&request).await?)
            }
            StoreOperation::Metadata => {
                rewrite(&mut request);
                self.account.send(&request).await?
            }
        };
        if response.status == 304 && response.headers.get_optional_str(&ITEM_COUNT).is_none() {
            // The .NET SDK reads it also when there are no changes.
            response.headers.insert(ITEM_COUNT, "0");
        }
        Ok(response)
    }

    async fn execute_data(&self, data: DataRequest<'_>) -> Result<Response, CosmosError> {
        let DataRequest { kind, container, request, .. } = data;
        let met = self.faults.take(kind, &container.container);
        if let Some(met) = met
            && met.fault != Fault::AnswerLost
        {
            return Ok(met.answer());
        }
        let written = written_items(data);
        let known = self.containers.get(container).await;
        if let Some(default_ttl) = known.as_ref().and_then(|known| known.default_ttl) {
            self.expiry.learn(container, &written, request, default_ttl);
        }
        let known = known.unwrap_or_default();
        let response = if kind.is_write() {
            let _writes = self.replicas.write().await;
            // Counted while the guard is held: a snapshot, which keeps out all writes, has the number of those
            // that it sees.
            *lock(&self.writes).entry(container.clone()).or_default() += 1;
            self.feed_orders.learn(container, &written, request);
            self.charged(&known, data, &written).await
        } else {
            self.read(&known, data).await
        };
        if let Some(splits) = &self.splits
            && kind.is_write()
        {
            splits.after_write(&self.replicas, container).await;
        }
        met.map_or(response, |met| Ok(met.answer()))
    }

    pub(super) async fn split(&self, container: &ContainerPath) {
        let partitions = self.account.backend.partitions(container);
        let Some(&partition) = partitions.first() else { return };
        self.replicas.split(container, partition, Duration::ZERO).await.await;
    }

    /// Answers a read from a replica that lags, if the request accepts one, and otherwise from the
    /// newest state.
    async fn read(
        &self,
        known: &ContainerInfo,
        data: DataRequest<'_>,
    ) -> Result<Response, CosmosError> {
        let candidates = self.replicas.candidates(data).await;
        for replica in &candidates.replicas {
            let request = &replica.request(data.request);
            let mut response = self.charged(known, DataRequest { request, ..data }, &[]).await?;
            if !replicas::is_usable(&response) {
                continue;
            }
            replicas::hide_replica(&mut response);
            if let Some(chaos) = candidates.by_chance {
                let newest = self.answer(data).await?;
                if (newest.status, &newest.body) != (response.status, &response.body) {
                    let (kind, container) = (data.kind, &data.container.container);
                    let what = format_args!("{kind:?} in {container} at {}", replica.name);
                    chaos.note(ChaosKind::Stale, what);
                }
            }
            return Ok(response);
        }
        self.charged(known, data, &[]).await
    }

    async fn charged(
        &self,
        known: &ContainerInfo,
        data: DataRequest<'_>,
        written: &[WrittenItem],
    ) -> Result<Response, CosmosError> {
        let answer = self.answer(data);
        match self.charges {
            Charges::Model => charge::charged(&self.account, known, data, written, answer).await,
            Charges::Emulator => answer.await,
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
                create_container(&self.account, self.partitions, database, request).await?
            }
            _ => self.account.send(request).await?,
        };
        if !matches!(response.status, 200..=299) {
            return Ok(response);
        }
        let mut response = response;
        match change {
            ContainersChange::Create { database }
            | ContainersChange::Replace(ContainerPath { database, .. }) => {
                if let Some(container) = written_id(request) {
                    let path = ContainerPath { database, container };
                    self.containers.forget(|container| *container == path);
                    self.containers.name(&path, &mut response).await;
                }
            }
            ContainersChange::Delete(path) => self.forget(|container| *container == path),
            ContainersChange::DeleteDatabase { database } => {
                self.forget(|container| container.database == database);
            }
        }
        Ok(response)
    }

    fn forget(&self, gone: impl Fn(&ContainerPath) -> bool) {
        self.expiry.forget(&gone);
        self.containers.forget(&gone);
        self.feed_orders.forget(&gone);
    }

    pub(super) async fn expire_items(&self, now: SystemTime) -> usize {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        self.expiry.sweep(self, now).await
    }

    async fn answer(&self, data: DataRequest<'_>) -> Result<Response, CosmosError> {
        let DataRequest { kind, container, request, .. } = data;
        match kind {
            RequestKind::Query | RequestKind::ReadFeed => pages::page(&self.account, data).await,
            RequestKind::ChangeFeed => changes::page(self, container, request).await,
            _ => self.account.send(request).await,
        }
    }
}

fn written_id(request: &Request) -> Option<String> {
    let body: Value = serde_json::from_slice(&body_of(request)).ok()?;
    body.get("id")?.as_str().map(str::to_owned)
}

/// Answers a request, in a task of its own if it has to wait.
///
/// A caller may keep several requests and poll one of them. In the caller's task, the others would not be polled
/// when it is their turn to write, and all writes of the account would wait for them.
async fn to_its_end(
    answered: impl Future<Output = Result<Response, CosmosError>> + Send + 'static,
) -> Result<Response, CosmosError> {
    let mut answered = Box::pin(answered);
    if let Poll::Ready(response) = poll!(&mut answered) {
        return response;
    }
    tokio::spawn(answered).await.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(error) => Err(failure(error)),
    })
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use serde_json::json;
    use tokio::time::timeout;

    use super::*;
    use crate::chaos::Chaos;
    use crate::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions};

    #[tokio::test]
    async fn a_request_whose_caller_polls_it_no_more_holds_up_no_other() {
        // Its replica is always due.
        let chaos = Chaos::new("stale=1".parse().unwrap(), 1);
        let options = EndpointOptions { chaos: Some(chaos), ..EndpointOptions::default() };
        let endpoint = CosmosEndpoint::in_process(options).unwrap();
        let containers = json!({"containers": [{"id": "posts",
            "partitionKey": {"paths": ["/postId"], "kind": "Hash", "version": 2}}]});
        let containers = ContainersFile::parse(&containers.to_string()).unwrap();
        endpoint.provision("tributary", &containers).await.unwrap();
        let posts = ContainerPath { database: "tributary".into(), container: "posts".into() };
        let store = &endpoint.store;
        let [one, two] = ["p1", "p2"].map(|id| json!({"id": id, "postId": id}));
        let keys = [json!(["p1"]), json!(["p2"])];

        let under_way = store.replicas.write().await;
        let path = ["dbs", "tributary", "colls", "posts", "docs", "p1"];
        let mut read = store.account.request(Method::Get, &path);
        read.insert_header(PARTITION_KEY, r#"["p1"]"#);
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut reading = pin!(store.execute(read));
        assert!(poll!(&mut reading).is_pending(), "the replica gets the writes up to now");
        let mut writing = pin!(store.upsert(&posts, &keys[0], &one));
        assert!(poll!(&mut writing).is_pending());
        drop(under_way);
        let other = store.upsert(&posts, &keys[1], &two);
        let other = timeout(Duration::from_secs(10), other).await;
        assert_eq!(other.unwrap().unwrap(), 201);
        assert_eq!(writing.await.unwrap(), 201);
        assert!(reading.await.is_ok());
    }
}
