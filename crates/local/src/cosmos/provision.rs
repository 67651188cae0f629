//! Databases and containers, created through the control plane of any endpoint that accepts a key.

use azure_data_cosmos::{CosmosClient, CosmosError, DatabaseClient, models::ContainerProperties};

use super::{ContainersFile, EndpointError};

const CONFLICT: u16 = 409;

/// Creates the database and the containers that do not exist yet. An existing container is kept, and
/// only its partition key is checked.
///
/// In Azure, Bicep creates them instead: with Microsoft Entra ID the data plane cannot.
///
/// # Errors
///
/// [`EndpointError::Exists`] if a container exists with another partition key, and
/// [`EndpointError::Cosmos`] if a request fails.
pub async fn provision(
    client: &CosmosClient,
    database: &str,
    containers: &ContainersFile,
) -> Result<(), EndpointError> {
    match client.create_database(database, None).await {
        Err(error) if !is_conflict(&error) => {
            let doing = format!("the database '{database}' cannot be made");
            return Err(EndpointError::cosmos(doing)(error));
        }
        _ => {}
    }
    let database = client.database_client(database.to_owned());
    for container in containers.containers() {
        provision_container(&database, container).await?;
    }
    Ok(())
}

async fn provision_container(
    database: &DatabaseClient,
    container: &ContainerProperties,
) -> Result<(), EndpointError> {
    let id = container.id.to_string();
    match database.create_container(container.clone(), None).await {
        Ok(_) => return Ok(()),
        Err(error) if !is_conflict(&error) => {
            let doing = format!("the container '{id}' cannot be made");
            return Err(EndpointError::cosmos(doing)(error));
        }
        Err(_) => {}
    }

    let cannot_read = format!("the container '{id}' exists but cannot be read");
    let found = async {
        let client = database.container_client(id.clone(), None).await?;
        client.read(None).await?.into_model()
    }
    .await
    .map_err(EndpointError::cosmos(cannot_read))?;
    if found.partition_key.paths() != container.partition_key.paths() {
        return Err(EndpointError::Exists(format!(
            "the container '{id}' is there with the partition key {}, not {}: delete it, or use \
             another database",
            found.partition_key.paths().join(", "),
            container.partition_key.paths().join(", "),
        )));
    }
    Ok(())
}

fn is_conflict(error: &CosmosError) -> bool {
    u16::from(error.status().status_code()) == CONFLICT
}
