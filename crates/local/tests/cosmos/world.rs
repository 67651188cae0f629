//! The account and the client of each test.

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::{CosmosClient, CosmosError, FeedScope, Query, RoutingStrategy};
use futures::TryStreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer};

pub(crate) const CONTAINERS: &str = include_str!("../../../../infra/containers.json");
pub(crate) const DATABASE: &str = "tributary";

/// An endpoint with the project's containers, and a client over one of the two ways.
pub(crate) struct World {
    pub(crate) way: &'static str,
    pub(crate) endpoint: CosmosEndpoint,
    pub(crate) client: CosmosClient,
    pub(crate) server: Option<RunningServer>,
}

impl World {
    /// Creates the same world twice: with a client in the process and with one over TCP.
    pub(crate) async fn both_ways(options: EndpointOptions) -> [Self; 2] {
        let endpoint = endpoint(options.clone()).await;
        let client = endpoint.client().await.unwrap();
        let in_process = Self { way: "in process", endpoint, client, server: None };
        let endpoint = self::endpoint(options).await;
        let server = endpoint.serve(0).await.unwrap();
        let client = client_of(&server).await;
        let over_tcp = Self { way: "over TCP", endpoint, client, server: Some(server) };
        [in_process, over_tcp]
    }

    /// Creates both worlds, each with its container `posts`.
    pub(crate) async fn with_posts(options: EndpointOptions) -> [(Self, ContainerClient); 2] {
        let [in_process, over_tcp] = Self::both_ways(options).await;
        let posts = in_process.container("posts").await;
        let posts_over_tcp = over_tcp.container("posts").await;
        [(in_process, posts), (over_tcp, posts_over_tcp)]
    }

    pub(crate) async fn container(&self, id: &str) -> ContainerClient {
        self.client.database_client(DATABASE).container_client(id.to_owned(), None).await.unwrap()
    }

    /// Returns the same world with a new client, which has no session with earlier writes.
    pub(crate) async fn another_client(self) -> Self {
        let client = match &self.server {
            None => self.endpoint.client().await.unwrap(),
            Some(server) => client_of(server).await,
        };
        Self { client, ..self }
    }
}

/// Returns options for a test: items never expire by themselves, and requests are kept.
pub(crate) fn options() -> EndpointOptions {
    EndpointOptions { expiry_interval: None, keep_requests: true, ..EndpointOptions::default() }
}

async fn endpoint(options: EndpointOptions) -> CosmosEndpoint {
    let endpoint = CosmosEndpoint::in_process(options).unwrap();
    let containers = ContainersFile::parse(CONTAINERS).unwrap();
    endpoint.provision(DATABASE, &containers).await.unwrap();
    endpoint
}

pub(crate) async fn client_of(server: &RunningServer) -> CosmosClient {
    CosmosClient::builder()
        .build(server.account().unwrap(), RoutingStrategy::PreferredRegions(Vec::new()))
        .await
        .unwrap()
}

/// Returns all results of a query.
pub(crate) async fn found<T: DeserializeOwned + Send + 'static>(
    container: &ContainerClient,
    query: impl Into<Query>,
    scope: FeedScope,
) -> Vec<T> {
    container.query_items(query, scope, None).await.unwrap().try_collect().await.unwrap()
}

/// Returns a comment of the post `p1` in the container `posts`.
pub(crate) fn comment(id: &str) -> Value {
    json!({ "id": id, "postId": "p1", "type": "comment" })
}

pub(crate) fn status<T>(result: Result<T, CosmosError>) -> u16 {
    result.map_or_else(|error| error.status().status_code().into(), |_| 200)
}
