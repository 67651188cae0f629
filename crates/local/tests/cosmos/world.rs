//! The account and the client of each test.

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::{CosmosClient, CosmosError, FeedScope, Query};
use futures::TryStreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions};

pub(crate) const CONTAINERS: &str = include_str!("../../../../infra/containers.json");
pub(crate) const DATABASE: &str = "tributary";

/// An endpoint with the project's containers, and a client.
pub(crate) struct World {
    pub(crate) endpoint: CosmosEndpoint,
    pub(crate) client: CosmosClient,
}

impl World {
    pub(crate) async fn new(options: EndpointOptions) -> Self {
        let endpoint = CosmosEndpoint::new(options).unwrap();
        let containers = ContainersFile::parse(CONTAINERS).unwrap();
        endpoint.provision(DATABASE, &containers).await.unwrap();
        let client = endpoint.client().await.unwrap();
        Self { endpoint, client }
    }

    /// Creates a world and its container `posts`.
    pub(crate) async fn with_posts(options: EndpointOptions) -> (Self, ContainerClient) {
        let world = Self::new(options).await;
        let posts = world.container("posts").await;
        (world, posts)
    }

    pub(crate) async fn container(&self, id: &str) -> ContainerClient {
        self.client.database_client(DATABASE).container_client(id.to_owned(), None).await.unwrap()
    }

    /// Returns the same world with a new client, which has no session with earlier writes.
    pub(crate) async fn another_client(self) -> Self {
        Self { client: self.endpoint.client().await.unwrap(), ..self }
    }
}

/// Returns options for a test: items never expire by themselves, and requests are kept.
pub(crate) fn options() -> EndpointOptions {
    EndpointOptions { expiry_interval: None, keep_requests: true, ..EndpointOptions::default() }
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
