//! An account with a container, and the output of the binary for it.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use azure_data_cosmos::{ContainerClient, PartitionKey, models::PartitionKeyValue};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::process::Command;
use tributary_local::{
    chaos::Chaos,
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer},
};

/// The container `orders`, by default by customer.
pub(crate) struct ContainerWorld {
    pub(crate) server: RunningServer,
    pub(crate) endpoint: CosmosEndpoint,
    folder: PathBuf,
}

/// The output of the binary.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Returns a number between 0 and 1 that only depends on `n`.
pub(crate) fn random(n: u64) -> f64 {
    let mixed = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

pub(crate) fn order(n: u64, customer: &str) -> Value {
    let day = 1 + n % 28;
    json!({
        "id": format!("order-{n}"), "customerId": customer, "status": n % 4,
        "createdAt": format!("2026-10-{day:02}T08:00:00Z"), "x": "x".repeat(200),
    })
}

impl ContainerWorld {
    pub(crate) async fn new(orders: Vec<Value>) -> Self {
        Self::with(&["/customerId"], orders, None).await
    }

    pub(crate) async fn with(paths: &[&str], orders: Vec<Value>, chaos: Option<Chaos>) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("tributary-sample-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let options = EndpointOptions {
            partitions: 3,
            keep_requests: true,
            chaos,
            ..EndpointOptions::default()
        };
        let endpoint = CosmosEndpoint::in_process(options).unwrap();
        let kind = if paths.len() > 1 { "MultiHash" } else { "Hash" };
        let key = json!({"paths": paths, "kind": kind, "version": 2});
        let containers = json!({"containers": [{"id": "orders", "partitionKey": key}]});
        let containers = ContainersFile::parse(&containers.to_string()).unwrap();
        endpoint.provision("tributary", &containers).await.unwrap();
        let server = endpoint.serve(0).await.unwrap();
        let world = Self { server, endpoint, folder };
        let container = world.container().await;
        stream::iter(orders)
            .map(|item| put(&container, paths, item))
            .buffer_unordered(16)
            .collect::<()>()
            .await;
        world
    }

    pub(crate) async fn container(&self) -> ContainerClient {
        let client = self.endpoint.client().await.unwrap();
        client.database_client("tributary").container_client("orders", None).await.unwrap()
    }

    /// Runs the binary in a folder of its own.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tributary-partition"));
        command.args(arguments).current_dir(&self.folder);
        command.env("COSMOS_CONNECTION", self.server.connection_string());
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> CommandOutput {
        let output = self.command(arguments).output().await.unwrap();
        CommandOutput {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Draws a sample of the container.
    pub(crate) async fn sample(&self, arguments: &[&str]) -> CommandOutput {
        self.run(&[&["sample", "--container", "orders"], arguments].concat()).await
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the names of the files in the folder.
    pub(crate) fn files(&self) -> Vec<String> {
        let files = fs::read_dir(&self.folder).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub(crate) fn items(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the request units that the store has charged for queries of the container.
    pub(crate) fn charged(&self) -> f64 {
        let requests = self.endpoint.take_requests();
        let answers = requests.iter().filter_map(|request| request.answer.as_ref());
        answers.map(|answer| answer.request_units).sum()
    }

    /// Returns the arguments of the `advise` that the output of a sample names.
    pub(crate) fn next(output: &CommandOutput) -> Vec<String> {
        let line =
            output.out.lines().find(|line| line.contains("tributary-partition advise")).unwrap();
        line.split_whitespace().skip(1).map(str::to_owned).collect()
    }
}

impl Drop for ContainerWorld {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

async fn put(container: &ContainerClient, paths: &[&str], item: Value) {
    let values = paths.iter().map(|path| match item.pointer(path) {
        Some(Value::String(text)) => PartitionKeyValue::from(text.clone()),
        Some(Value::Null) => PartitionKeyValue::NULL,
        Some(Value::Number(number)) => {
            PartitionKeyValue::try_from(number.as_f64().unwrap()).unwrap()
        }
        _ => PartitionKeyValue::UNDEFINED,
    });
    let key = PartitionKey::try_from(values.collect::<Vec<_>>()).unwrap();
    let id = item["id"].as_str().unwrap().to_owned();
    // A partition that splits refuses it for a moment.
    while container.create_item(key.clone(), &id, &item, None).await.is_err() {}
}

/// Returns the number of items of each customer.
pub(crate) fn by_customer(items: &[Value]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for item in items {
        *found.entry(item["customerId"].to_string()).or_default() += 1;
    }
    found
}

/// Returns the number after a word of the output.
pub(crate) fn number_after(text: &str, word: &str) -> f64 {
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("{word} in {text}"));
    let end =
        rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len());
    rest[..end].replace(',', "").trim_end_matches('.').parse().unwrap()
}
