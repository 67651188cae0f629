//! The order of the change feed, compared with scans.

use std::time::{Duration, SystemTime};

use azure_core::http::headers::{ETAG, HeaderName};
use proptest::prelude::*;

use super::*;
use crate::cosmos::{
    ContainersFile, CosmosEndpoint, EndpointOptions,
    slices::{self, ITEM_COUNT},
    store::EndpointStore,
};

/// What clients, the time and the service do to a container.
#[derive(Clone, Debug)]
enum Step {
    /// Writes the items 0 to `n` of a partition key in one transaction, and deletes the next one if it is there.
    Batch {
        key: u8,
        n: u8,
    },
    Upsert {
        key: u8,
        id: u8,
        lives: bool,
    },
    Delete {
        key: u8,
        id: u8,
    },
    /// Creates an item, in vain if it is there.
    Create {
        key: u8,
        id: u8,
    },
    Expire,
    Split,
    ReadAll {
        limit: Option<u8>,
        metadata: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (key, id) = (0..4_u8, 0..4_u8);
    prop_oneof![
        2 => (key.clone(), 1..4_u8).prop_map(|(key, n)| Step::Batch { key, n }),
        4 => (key.clone(), id.clone(), any::<bool>())
            .prop_map(|(key, id, lives)| Step::Upsert { key, id, lives }),
        2 => (key.clone(), id.clone()).prop_map(|(key, id)| Step::Delete { key, id }),
        2 => (key, id).prop_map(|(key, id)| Step::Create { key, id }),
        1 => Just(Step::Expire),
        1 => Just(Step::Split),
        4 => (proptest::option::of(1..4_u8), any::<bool>())
            .prop_map(|(limit, metadata)| Step::ReadAll { limit, metadata }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A page that names its part of the key range is read by a scan.
    #[test]
    fn a_page_in_order_is_the_page_of_a_scan(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = FeedWorld::new().await;
            for step in steps {
                world.take(step).await;
            }
            world.take(Step::ReadAll { limit: None, metadata: true }).await;
        });
    }
}

/// Otherwise its old number would follow higher ones, and a trigger that reads to the end would never come there.
#[tokio::test]
async fn an_item_whose_write_fails_stays_at_its_place() {
    let world = FeedWorld::new().await;
    let read = || Step::ReadAll { limit: None, metadata: false };
    let batch = Step::Batch { key: 3, n: 2 };
    for step in [read(), batch, read(), Step::Create { key: 3, id: 0 }, read()] {
        world.take(step).await;
    }
}

struct FeedWorld {
    endpoint: CosmosEndpoint,
    path: ContainerPath,
}

impl FeedWorld {
    async fn new() -> Self {
        let options = EndpointOptions { expiry_interval: None, ..EndpointOptions::default() };
        let endpoint = CosmosEndpoint::in_process(options).unwrap();
        let containers = json!({"containers": [{"id": "items", "defaultTtl": -1,
            "partitionKey": {"paths": ["/key"], "kind": "Hash", "version": 2}}]});
        let containers = ContainersFile::parse(&containers.to_string()).unwrap();
        endpoint.provision("db", &containers).await.unwrap();
        let path = ContainerPath { database: "db".into(), container: "items".into() };
        Self { endpoint, path }
    }

    async fn take(&self, step: Step) {
        match step {
            Step::Batch { key, n } => {
                let upsert = |id: u8| {
                    json!({"operationType": "Upsert",
                        "resourceBody": {"id": id.to_string(), "key": key}})
                };
                let delete = json!({"operationType": "Delete", "id": n.to_string()});
                let mut operations: Vec<_> = (0..n).map(upsert).collect();
                if self.send(self.item(Method::Get, key, n)).await.status == 200 {
                    operations.push(delete);
                }
                let mut batch = self.documents(Method::Post);
                batch.insert_header(PARTITION_KEY, format!("[{key}]"));
                batch.insert_header("x-ms-cosmos-is-batch-request", "true");
                batch.insert_header("x-ms-cosmos-batch-atomic", "true");
                batch.set_body(Value::from(operations).to_string());
                assert_eq!(self.send(batch).await.status, 200);
            }
            Step::Upsert { key, id, lives } => {
                let item = json!({"id": id.to_string(), "key": key,
                    "ttl": if lives { -1 } else { 1 }});
                // Clients write one number in several ways.
                let key = if lives { json!([key]) } else { json!([f64::from(key)]) };
                let upserted = self.store().upsert(&self.path, &key, &item).await.unwrap();
                assert!(matches!(upserted, 200 | 201), "{upserted}");
            }
            Step::Delete { key, id } => {
                let mut delete = self.item(Method::Delete, key, id);
                delete.insert_header(PARTITION_KEY, format!("[ {key}.0 ]"));
                let deleted = self.send(delete).await.status;
                assert!(matches!(deleted, 204 | 404), "{deleted}");
            }
            Step::Create { key, id } => {
                let mut create = self.documents(Method::Post);
                create.insert_header(PARTITION_KEY, format!("[{key}]"));
                create.set_body(json!({"id": id.to_string(), "key": key}).to_string());
                let created = self.send(create).await.status;
                assert!(matches!(created, 201 | 409), "{created}");
            }
            Step::Expire => {
                self.endpoint.expire_items(SystemTime::now() + Duration::from_mins(1)).await;
            }
            Step::Split if self.partitions().len() < 4 => {
                self.endpoint.split(&self.path.database, &self.path.container).await;
            }
            Step::Split => {}
            Step::ReadAll { limit, metadata } => {
                for partition in self.partitions() {
                    self.read_all(partition, limit, metadata).await;
                }
            }
        }
    }

    async fn read_all(&self, partition: u32, limit: Option<u8>, metadata: bool) {
        let mut behind = None;
        loop {
            let mut whole = self.documents(Method::Get);
            whole.insert_header("a-im", "Incremental feed");
            whole.insert_header(RANGE_ID, partition.to_string());
            if let Some(limit) = limit {
                whole.insert_header(MAX_ITEM_COUNT, limit.to_string());
            }
            if metadata {
                whole.insert_header("x-ms-cosmos-changefeed-wire-format-version", "2021-09-15");
            }
            if let Some(behind) = &behind {
                whole.insert_header("if-none-match", String::clone(behind));
            }
            let mut part = Request::new(whole.url().clone(), Method::Get);
            *part.headers_mut() = whole.headers().clone();
            slices::narrow(&mut part, 0, None);
            let in_order = self.send(whole).await;
            let order = self.store().feed_orders.take(&self.path);
            let all = self.send(self.documents(Method::Get)).await;
            let all: Value = serde_json::from_slice(&all.body).unwrap();
            let n_items = all["Documents"].as_array().unwrap().len();
            let ordered: usize =
                order.partitions.values().map(|partition| partition.items.len()).sum();
            assert_eq!((order.places.len(), ordered), (n_items, n_items));
            self.store().feed_orders.keep(&self.path, order);
            let scanned = self.send(part).await;
            assert_eq!(told(&in_order), told(&scanned));
            behind = in_order.headers.get_optional_string(&ETAG);
            if in_order.status == 304 {
                break;
            }
        }
    }

    fn partitions(&self) -> Vec<u32> {
        self.store().account.backend.partitions(&self.path)
    }

    fn item(&self, method: Method, key: u8, id: u8) -> Request {
        let mut request = self.store().account.request(method, &self.path.item(&id.to_string()));
        request.insert_header(PARTITION_KEY, format!("[{key}]"));
        request
    }

    fn documents(&self, method: Method) -> Request {
        let ContainerPath { database, container } = &self.path;
        self.store().account.request(method, &["dbs", database, "colls", container, "docs"])
    }

    async fn send(&self, request: Request) -> Response {
        self.store().execute(request).await.unwrap()
    }

    fn store(&self) -> &std::sync::Arc<EndpointStore> {
        &self.endpoint.store
    }
}

/// Returns what a client reads of a page.
fn told(response: &Response) -> (u16, [Option<&str>; 5], Value) {
    let token = HeaderName::from_static("x-ms-session-token");
    let header = |name| response.headers.get_optional_str(&name);
    let body = serde_json::from_slice(&response.body).unwrap_or_default();
    (response.status, [ETAG, PARTITION_LSN, token, RANGE_ID, ITEM_COUNT].map(header), body)
}
