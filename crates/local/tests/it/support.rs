//! Helpers of the tests: app folders, documents, waiting for a condition.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use azure_data_cosmos::{ContainerClient, CosmosClient, CosmosError, FeedScope, Query};
use bytes::Bytes;
use futures::TryStreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions};
use tributary_local::host::wire::InvocationAnswer;
use tributary_local::host::{
    Console, FeedOptions, FeedPump, Function, FunctionApp, InvocationFailure, InvocationResult,
    Invoker, Settings,
};

use crate::hosted::Delivery;

/// A folder that is deleted on drop, and the number of deliveries that were taken there.
pub(crate) struct Folder(PathBuf, AtomicUsize);

impl Folder {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("tributary-host-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path, AtomicUsize::new(0))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn answers(&self, answer: &Value) {
        self.write("answer", answer);
    }

    /// Takes the requests that the handler has had.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        let text = std::fs::read_to_string(self.0.join("deliveries")).unwrap_or_default();
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let lines: Vec<_> = complete.lines().collect();
        let n_taken = self.1.swap(lines.len(), Ordering::Relaxed);
        lines[n_taken..].iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn write(&self, file: &str, content: impl Display) -> &Self {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.to_string()).unwrap();
        self
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn host_json() -> Value {
    json!({
        "version": "2.0",
        "extensions": { "http": { "routePrefix": "" } },
        "customHandler": {
            "description": { "defaultExecutablePath": "handler" },
            "enableProxyingHttpRequest": true,
        },
    })
}

pub(crate) fn http_function(route: &str, methods: &[&str], auth_level: &str) -> Value {
    json!({ "bindings": [
        { "type": "httpTrigger", "direction": "in", "name": "req", "route": route,
          "methods": methods, "authLevel": auth_level },
        { "type": "http", "direction": "out", "name": "res" },
    ] })
}

pub(crate) fn timer_function(schedule: &str) -> Value {
    json!({ "bindings": [
        { "type": "timerTrigger", "direction": "in", "name": "timer", "schedule": schedule },
    ] })
}

pub(crate) fn all_paths() -> [(&'static str, Value); 1] {
    [("Rest", http_function("api/{*path}", &[], "anonymous"))]
}

/// Returns an `infra/containers.json` with containers by their ids and the paths of their partition keys.
pub(crate) fn containers(containers: &[(&str, &str)]) -> Value {
    let container = |(id, path): &(&str, &str)| {
        let key = json!({ "paths": [path], "kind": "Hash", "version": 2 });
        json!({ "id": id, "partitionKey": key, "defaultTtl": -1 })
    };
    let containers: Vec<_> = containers.iter().map(container).collect();
    json!({ "containers": containers })
}

pub(crate) fn cosmos_function() -> Value {
    json!({
        "bindings": [{
            "type": "cosmosDBTrigger", "direction": "in", "name": "documents",
            "connection": "CosmosConnection", "databaseName": "%CosmosDatabase%",
            "containerName": "posts", "leaseContainerName": "leases",
            "leaseContainerPrefix": "copies-", "startFromBeginning": true,
            "maxItemsPerInvocation": 100, "feedPollDelay": 10,
        }],
        "retry": {
            "strategy": "exponentialBackoff", "maxRetryCount": -1,
            "minimumInterval": "00:00:02", "maximumInterval": "00:01:00",
        },
    })
}

pub(crate) fn settings() -> Settings {
    let limit = ("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT", "16000000");
    [("CosmosDatabase", "test"), ("MaxItems", " 4 "), limit].into_iter().collect()
}

pub(crate) fn settings_with(name: &str, value: &str) -> Settings {
    let mut settings = settings();
    settings.set(name, value);
    settings
}

pub(crate) fn function(json: &Value) -> Function {
    function_of(&host_json(), json)
}

pub(crate) fn function_of(host: &Value, json: &Value) -> Function {
    let folder = Folder::new();
    folder.write("host.json", host).write("functions/Copies/function.json", json);
    FunctionApp::load(folder.path(), &settings()).unwrap().functions()[0].clone()
}

/// An account in this process with a monitored container and one for leases.
pub(crate) struct Store {
    pub(crate) endpoint: CosmosEndpoint,
    pub(crate) client: CosmosClient,
    pub(crate) posts: ContainerClient,
    leases: ContainerClient,
}

impl Store {
    pub(crate) async fn new(partitions: u32) -> Self {
        Self::with_options(EndpointOptions { partitions, ..EndpointOptions::default() }).await
    }

    pub(crate) async fn with_options(options: EndpointOptions) -> Self {
        let endpoint = CosmosEndpoint::new(options).unwrap();
        let containers = containers(&[("posts", "/postId"), ("leases", "/id")]);
        let containers = ContainersFile::parse(&containers.to_string()).unwrap();
        endpoint.provision("test", &containers).await.unwrap();
        let client = endpoint.client().await.unwrap();
        let database = client.database_client("test");
        let posts = database.container_client("posts", None).await.unwrap();
        let leases = database.container_client("leases", None).await.unwrap();
        Self { endpoint, client, posts, leases }
    }

    pub(crate) async fn put(&self, id: &str, fields: Value) {
        let mut post = json!({ "id": id, "postId": id });
        post.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.posts.upsert_item(id.to_owned(), id, &post, None).await.unwrap();
    }

    pub(crate) async fn fill(&self, prefix: &str, n_posts: usize) {
        for number in 0..n_posts {
            self.put(&format!("{prefix}{number}"), json!({})).await;
        }
    }

    pub(crate) fn pump(
        &self,
        function: &Function,
        handler: &(impl Invoker + Clone + 'static),
        options: FeedOptions,
    ) -> FeedPump {
        let invoker = Arc::new(handler.clone());
        FeedPump::new(self.client.clone(), function, invoker, options).unwrap()
    }

    /// Returns the container of the posts for a client that has no session with earlier writes.
    pub(crate) async fn another_client(&self) -> ContainerClient {
        let client = self.endpoint.client().await.unwrap();
        client.database_client("test").container_client("posts", None).await.unwrap()
    }

    pub(crate) async fn lease_items(&self) -> Vec<Value> {
        found(&self.leases, "SELECT * FROM c", FeedScope::full_container()).await
    }

    /// Returns the leases by the number of their partition.
    pub(crate) async fn leases(&self) -> BTreeMap<String, Value> {
        let items = self.lease_items().await.into_iter();
        let lease = |item: Value| Some((item["LeaseToken"].as_str()?.to_owned(), item));
        items.filter_map(lease).collect()
    }

    /// Writes a lease, as its owner or an operator does.
    pub(crate) async fn put_lease(&self, lease: &Value) {
        let id = lease["id"].as_str().unwrap().to_owned();
        self.leases.upsert_item(id.clone(), &id, lease, None).await.unwrap();
    }
}

pub(crate) async fn found<T: DeserializeOwned + Send + 'static>(
    container: &ContainerClient,
    query: impl Into<Query>,
    scope: FeedScope,
) -> Vec<T> {
    container.query_items(query, scope, None).await.unwrap().try_collect().await.unwrap()
}

pub(crate) fn status<T>(result: Result<T, CosmosError>) -> u16 {
    result.map_or_else(|error| error.status().status_code().into(), |_| 200)
}

pub(crate) struct RunningPump {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl RunningPump {
    pub(crate) fn start(pump: FeedPump) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        Self { stop, task: tokio::spawn(async move { pump.run(stopped).await }) }
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(Duration::from_secs(10), self.task).await.unwrap().unwrap();
    }
}

/// Returns options for tests: no real pauses, lines kept.
pub(crate) fn feed_options() -> FeedOptions {
    FeedOptions {
        poll_delay: Some(Duration::from_millis(5)),
        retry_scale: 0.0,
        console: Console::kept(),
        ..FeedOptions::default()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) id: String,
    pub(crate) body: Value,
}

impl Received {
    /// Returns the text of the page, decoded twice as the host encodes it.
    pub(crate) fn page(&self) -> String {
        let once = self.body["Data"]["documents"].as_str().unwrap();
        serde_json::from_str(once).unwrap()
    }

    pub(crate) fn documents(&self) -> Vec<Value> {
        serde_json::from_str(&self.page()).unwrap()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        let id = |document: &Value| document["id"].as_str().unwrap().to_owned();
        self.documents().iter().map(id).collect()
    }
}

/// A handler in this process that fails as often as it is told, and then succeeds.
#[derive(Clone, Default)]
pub(crate) struct Handler {
    received: Arc<Mutex<Vec<Received>>>,
    failures: Arc<Mutex<usize>>,
}

impl Handler {
    pub(crate) fn fails(&self, times: usize) {
        *self.failures.lock().unwrap() = times;
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.received().iter().flat_map(Received::ids).collect()
    }
}

#[async_trait]
impl Invoker for Handler {
    async fn invoke(&self, _: &str, id: &str, body: Bytes) -> InvocationResult {
        let body = serde_json::from_slice(&body).unwrap();
        self.received.lock().unwrap().push(Received { id: id.to_owned(), body });
        let mut failures = self.failures.lock().unwrap();
        let Some(fewer) = failures.checked_sub(1) else {
            return Ok(InvocationAnswer::default());
        };
        *failures = fewer;
        Err(InvocationFailure::Status(500))
    }
}

/// Waits until a condition returns a value; fails after 20 s.
pub(crate) async fn eventually<T>(what: &str, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(value) = condition().await {
            return value;
        }
        assert!(Instant::now() < deadline, "waited 20 s until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    eventually(what, async || condition().await.then_some(())).await;
}

pub(crate) async fn until_printed(console: &Console, text: &str) {
    until(text, async || console.lines().iter().any(|line| line.contains(text))).await;
}

/// Returns the path of `tests/handler/handler.rs`, built by `cargo test` or now.
fn handler() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().unwrap().parent().unwrap();
    let example = profile.join("examples/handler");
    if !example.is_file() {
        let built = std::process::Command::new(env!("CARGO"))
            .args(["build", "--quiet", "-p", "tributary-local", "--example", "handler"])
            .args(profile.ends_with("release").then_some("--release"))
            .status()
            .unwrap();
        assert!(built.success());
    }
    example
}

/// Creates a staged app with the handler of the tests. It is a link if the system has links: a copy that is being
/// written cannot be run, and a test that starts a process meanwhile keeps it open.
pub(crate) fn staged(functions: &[(&str, Value)]) -> Folder {
    let folder = Folder::new();
    folder.write("host.json", host_json());
    for (name, json) in functions {
        folder.write(&format!("{name}/function.json"), json);
    }
    let (from, to) = (handler(), folder.path().join("handler"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(from, to).unwrap();
    #[cfg(not(unix))]
    std::fs::copy(from, to).map(drop).unwrap();
    folder
}

pub(crate) fn app() -> Folder {
    staged(&all_paths())
}
