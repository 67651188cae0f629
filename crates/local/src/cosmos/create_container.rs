//! New containers with the number of physical partitions that the endpoint was asked for.
//!
//! The emulator makes four for every container that comes over its REST API. Its internal hook
//! takes a number, but no properties, so a container is made by the hook and then replaced by
//! itself with all properties.

use azure_core::http::{
    Method, Request,
    headers::{CONTENT_TYPE, HeaderName},
};
use azure_data_cosmos_driver::{
    CosmosError, in_memory_emulator::ContainerConfig, models::PartitionKeyDefinition,
};
use serde_json::Value;

use super::{
    store::{Response, Store},
    written::body_of,
};

const THROUGHPUT: HeaderName = HeaderName::from_static("x-ms-offer-throughput");

/// Makes the container of `request`. Whatever is wrong with the request is left for the emulator
/// to refuse. The caller makes sure that no other container is made meanwhile.
pub(super) async fn create_container(
    store: &Store,
    database: &str,
    request: &Request,
) -> Result<Response, CosmosError> {
    let Some(wanted) = Wanted::from(store, request) else {
        return store.send(request).await;
    };
    let of_database = store.request(Method::Get, &["dbs", database]);
    let path = ["dbs", database, "colls", &wanted.id];
    let of_container = store.request(Method::Get, &path);
    if store.send(&of_database).await?.status != 200
        || store.send(&of_container).await?.status == 200
    {
        return store.send(request).await;
    }

    store.emulator.store().create_container_with_config(
        database,
        &wanted.id,
        wanted.partition_key,
        wanted.config,
    );
    let mut replace = store.request(Method::Put, &path);
    replace.insert_header(CONTENT_TYPE, "application/json");
    replace.set_body(request.body().clone());
    let mut response = store.send(&replace).await?;
    if response.status == 200 {
        response.status = 201;
    }
    Ok(response)
}

struct Wanted {
    id: String,
    partition_key: PartitionKeyDefinition,
    config: ContainerConfig,
}

impl Wanted {
    /// `None` when the request is malformed, or has unique keys: those can only be given at
    /// creation, so such a container has the emulator's own number of partitions.
    fn from(store: &Store, request: &Request) -> Option<Self> {
        let body: Value = serde_json::from_slice(&body_of(request)).ok()?;
        if body.get("uniqueKeyPolicy").is_some() {
            return None;
        }
        let id = body.get("id")?.as_str().filter(|id| !id.is_empty())?;
        let mut config = ContainerConfig::new().with_partition_count(store.partitions);
        if let Some(throughput) = request.headers().get_optional_str(&THROUGHPUT) {
            config = config.with_throughput(throughput.trim().parse().ok()?);
        }
        Some(Self {
            id: id.to_owned(),
            partition_key: serde_json::from_value(body.get("partitionKey")?.clone()).ok()?,
            config: config.build().ok()?,
        })
    }
}
