//! New containers with the number of physical partitions that the endpoint has as an option.
//!
//! The emulator makes four for every container that comes over its REST API. Its internal hook takes a
//! number, but no properties. So `Backend::create_container` makes a container, and then the container
//! is replaced by itself with all properties.

use azure_core::http::{
    Method, Request,
    headers::{CONTENT_TYPE, HeaderName},
};
use azure_data_cosmos::CosmosError;
use serde_json::Value;

use super::{
    account::Account,
    backend::{NewContainer, Response},
    operation::ContainerPath,
    written::body_of,
};

const THROUGHPUT: HeaderName = HeaderName::from_static("x-ms-offer-throughput");

/// Creates the container of `request`. The backend refuses a faulty request. The caller makes sure that
/// no other container is created meanwhile.
pub(super) async fn create_container(
    account: &Account,
    partitions: u32,
    database: &str,
    request: &Request,
) -> Result<Response, CosmosError> {
    let Some(definition) = definition(request) else {
        return account.send(request).await;
    };
    let Some(id) = definition["id"].as_str().filter(|id| !id.is_empty()) else {
        return account.send(request).await;
    };
    let of_database = account.request(Method::Get, &["dbs", database]);
    let path = ["dbs", database, "colls", id];
    let of_container = account.request(Method::Get, &path);
    if account.send(&of_database).await?.status != 200
        || account.send(&of_container).await?.status == 200
    {
        return account.send(request).await;
    }

    let created = account.backend.create_container(&NewContainer {
        path: &ContainerPath { database: database.to_owned(), container: id.to_owned() },
        definition: &definition,
        partitions,
        throughput: request.headers().get_optional_str(&THROUGHPUT),
    });
    if !created {
        return account.send(request).await;
    }
    let mut replace = account.request(Method::Put, &path);
    replace.insert_header(CONTENT_TYPE, "application/json");
    replace.set_body(request.body().clone());
    let mut response = account.send(&replace).await?;
    if response.status == 200 {
        response.status = 201;
    }
    Ok(response)
}

/// Returns the definition of a container. Returns `None` for a malformed request and for unique keys,
/// which can only be set at creation: such a container has the backend's own number of partitions.
fn definition(request: &Request) -> Option<Value> {
    let definition: Value = serde_json::from_slice(&body_of(request)).ok()?;
    definition.get("uniqueKeyPolicy").is_none().then_some(definition)
}
