//! `tributary-partition sample` and `monitor`: an account of the local endpoint with the container `orders`.

use std::fs;

use azure_data_cosmos::ContainerClient;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::process::Command;
use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer};

use crate::support::{CommandOutput, Folder, random};

mod files;
mod items;
mod monitor;

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
        let options =
            EndpointOptions { partitions: 3, keep_requests: true, ..EndpointOptions::default() };
        let endpoint = CosmosEndpoint::new(options).unwrap();
        let key = json!({"paths": ["/customerId"], "kind": "Hash", "version": 2});
        let containers = json!({"containers": [{"id": "orders", "partitionKey": key}]});
        let containers = ContainersFile::parse(&containers.to_string()).unwrap();
        endpoint.provision("tributary", &containers).await.unwrap();
        let server = endpoint.serve(0).await.unwrap();
        let world = Self { server, endpoint, folder: Folder::new() };
        let client = world.endpoint.client().await.unwrap();
        let container = client.database_client("tributary").container_client("orders", None).await;
        let container = container.unwrap();
        stream::iter(orders)
            .map(|item| put(&container, item))
            .buffer_unordered(16)
            .collect::<()>()
            .await;
        world
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::from(self.folder.command(arguments));
        command.env("COSMOS_CONNECTION", self.server.connection_string()).kill_on_drop(true);
        command
    }

    async fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.command(arguments).output().await.unwrap().into()
    }

    async fn sample(&self, arguments: &[&str]) -> CommandOutput {
        self.run(&[&["sample", "--container", "orders"], arguments].concat()).await
    }

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
}

async fn put(container: &ContainerClient, item: Value) {
    let [key, id] = ["customerId", "id"].map(|name| item[name].as_str().unwrap().to_owned());
    container.create_item(key, &id, &item, None).await.unwrap();
}

fn number_after(text: &str, word: &str) -> f64 {
    let (_, rest) = text.split_once(word).unwrap_or_else(|| panic!("{word} in {text}"));
    let end =
        rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len());
    rest[..end].replace(',', "").trim_end_matches('.').parse().unwrap()
}
