//! `tributary-partition sample` and `monitor`: an account of the local endpoint with the container `orders`.

use std::{collections::BTreeMap, fs};

use azure_data_cosmos::{ContainerClient, PartitionKey, models::PartitionKeyValue};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::process::Command;
use tributary_local::{
    chaos::Chaos,
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer},
};

use crate::support::{CommandOutput, Folder, random};

mod files;
mod items;
mod monitor;
mod troubles;

struct ContainerWorld {
    server: RunningServer,
    endpoint: CosmosEndpoint,
    folder: Folder,
}

/// Returns orders of which one customer has 80 %.
fn orders(n: u64) -> Vec<Value> {
    let customer = |n: u64| match random(n, 1) {
        many if many < 0.8 => "contoso".to_owned(),
        _ => format!("customer-{}", n % 300),
    };
    (0..n).map(|n| order(n, &customer(n))).collect()
}

fn order(n: u64, customer: &str) -> Value {
    let day = 1 + n % 28;
    json!({
        "id": format!("order-{n}"), "customerId": customer, "status": n % 4,
        "createdAt": format!("2026-10-{day:02}T08:00:00Z"), "x": "x".repeat(200),
    })
}

impl ContainerWorld {
    async fn new(orders: Vec<Value>) -> Self {
        Self::with(orders, None).await
    }

    async fn with(orders: Vec<Value>, chaos: Option<Chaos>) -> Self {
        let options = EndpointOptions {
            partitions: 3,
            keep_requests: true,
            chaos,
            ..EndpointOptions::default()
        };
        let endpoint = CosmosEndpoint::new(options).unwrap();
        let key = json!({"paths": ["/customerId"], "kind": "Hash", "version": 2});
        let containers = json!({"containers": [{"id": "orders", "partitionKey": key}]});
        let containers = ContainersFile::parse(&containers.to_string()).unwrap();
        endpoint.provision("tributary", &containers).await.unwrap();
        let server = endpoint.serve(0).await.unwrap();
        let world = Self { server, endpoint, folder: Folder::new() };
        let container = world.container().await;
        stream::iter(orders)
            .map(|item| put(&container, item))
            .buffer_unordered(16)
            .collect::<()>()
            .await;
        world
    }

    async fn container(&self) -> ContainerClient {
        let client = self.endpoint.client().await.unwrap();
        client.database_client("tributary").container_client("orders", None).await.unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::from(self.folder.command(arguments));
        command.env("COSMOS_CONNECTION", self.server.connection_string()).kill_on_drop(true);
        command
    }

    async fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.command(arguments).output().await.unwrap().into()
    }

    /// Draws a sample of the container.
    async fn sample(&self, arguments: &[&str]) -> CommandOutput {
        self.run(&[&["sample", "--container", "orders"], arguments].concat()).await
    }

    /// Returns the names of the files in the folder.
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path("")).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn items(&self, name: &str) -> Vec<Value> {
        self.folder.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the request units that the store has charged for queries of the container.
    fn charged(&self) -> f64 {
        let requests = self.endpoint.take_requests();
        let answers = requests.iter().filter_map(|request| request.answer.as_ref());
        answers.map(|answer| answer.request_units).sum()
    }

    /// Returns the arguments of the `advise` that the output of a sample names.
    fn next(output: &CommandOutput) -> Vec<String> {
        let line =
            output.out.lines().find(|line| line.contains("tributary-partition advise")).unwrap();
        line.split_whitespace().skip(1).map(str::to_owned).collect()
    }
}

async fn put(container: &ContainerClient, item: Value) {
    let key = PartitionKey::from(match item.get("customerId") {
        Some(Value::String(text)) => PartitionKeyValue::from(text.clone()),
        Some(Value::Null) => PartitionKeyValue::NULL,
        Some(Value::Number(number)) => {
            PartitionKeyValue::try_from(number.as_f64().unwrap()).unwrap()
        }
        _ => PartitionKeyValue::UNDEFINED,
    });
    let id = item["id"].as_str().unwrap().to_owned();
    // A partition that splits refuses it for a moment.
    while container.create_item(key.clone(), &id, &item, None).await.is_err() {}
}

/// Returns the number of items of each customer.
fn by_customer(items: &[Value]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for item in items {
        *found.entry(item["customerId"].to_string()).or_default() += 1;
    }
    found
}

/// Returns the number after a word of the output.
fn number_after(text: &str, word: &str) -> f64 {
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("{word} in {text}"));
    let end =
        rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len());
    rest[..end].replace(',', "").trim_end_matches('.').parse().unwrap()
}
