//! The store of the models: the local endpoint in this process, or an account.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, anyhow, bail};
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, CosmosClient, CosmosError, RoutingStrategy,
};
use tributary_functions::cosmos::Cosmos;
use tributary_local::cosmos::{
    ContainersFile, CosmosEndpoint, EndpointOptions, StoreRequest, provision,
};

/// A store in which databases are created.
pub(crate) enum ModelStore {
    /// In memory: each database in an account of its own, which ends with it.
    Local,
    /// In an account or emulator.
    Account(Account),
}

/// An account, and the databases that were created in it.
pub(crate) struct Account {
    reference: AccountReference,
    client: CosmosClient,
    made: Mutex<BTreeSet<&'static str>>,
}

/// A model's database with its containers, still empty.
pub(crate) struct Database {
    pub(crate) cosmos: Arc<Cosmos>,
    endpoint: Option<CosmosEndpoint>,
}

impl Database {
    /// Returns the requests to the store since the last call; `None` if they are unknown.
    pub(crate) fn take_requests(&self) -> Option<Vec<StoreRequest>> {
        self.endpoint.as_ref().map(CosmosEndpoint::take_requests)
    }
}

impl ModelStore {
    /// Connects to the account of a connection string.
    pub(crate) async fn account(connection: &str) -> anyhow::Result<Self> {
        let reference = reference(connection)?;
        let client = CosmosClient::builder()
            .build(reference.clone(), RoutingStrategy::PreferredRegions(Vec::new()))
            .await
            .context("the account of --cosmos does not answer")?;
        Ok(Self::Account(Account { reference, client, made: Mutex::default() }))
    }

    /// Creates a database with its containers. Locally each of them has `partitions` physical
    /// partitions.
    pub(crate) async fn make(
        &self,
        database: &'static str,
        containers: &ContainersFile,
        partitions: u32,
    ) -> anyhow::Result<Database> {
        match self {
            Self::Local => {
                let endpoint = CosmosEndpoint::in_process(EndpointOptions {
                    partitions,
                    expiry_interval: None,
                    keep_requests: true,
                    ..EndpointOptions::default()
                })?;
                endpoint.provision(database, containers).await?;
                let runtime = Some(endpoint.runtime().await?);
                let cosmos = Cosmos::new(endpoint.account(), runtime, database.to_owned());
                Ok(Database { cosmos, endpoint: Some(endpoint) })
            }
            Self::Account(account) => {
                account.make(database).await?;
                provision(&account.client, database, containers).await?;
                let cosmos = Cosmos::new(account.reference.clone(), None, database.to_owned());
                Ok(Database { cosmos, endpoint: None })
            }
        }
    }

    /// Deletes the databases that were created, and no others.
    pub(crate) async fn delete_made(&self) -> anyhow::Result<()> {
        let Self::Account(account) = self else {
            return Ok(());
        };
        let made = std::mem::take(&mut *account.made());
        for name in made {
            account.client.database_client(name).delete(None).await.with_context(|| {
                format!("the database '{name}' cannot be deleted: delete it yourself, it costs")
            })?;
        }
        Ok(())
    }
}

impl Account {
    async fn make(&self, name: &'static str) -> anyhow::Result<()> {
        match self.client.create_database(name, None).await {
            Ok(_) => {
                self.made().insert(name);
                Ok(())
            }
            Err(error) => Err(match status(&error) {
                409 => anyhow!(
                    "the account has a database '{name}' already, perhaps from a run with --keep: \
                     delete it, and repeat the run"
                ),
                401 | 403 => anyhow!(
                    "the account does not let this key create the database '{name}': use the primary \
                     key of an account whose key-based access is on (an identity cannot make \
                     databases)"
                ),
                _ => anyhow::Error::new(error)
                    .context(format!("the database '{name}' cannot be made")),
            }),
        }
    }

    fn made(&self) -> std::sync::MutexGuard<'_, BTreeSet<&'static str>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn status(error: &CosmosError) -> u16 {
    u16::from(error.status().status_code())
}

/// Reads a connection string; no error has a part of it.
fn reference(connection: &str) -> anyhow::Result<AccountReference> {
    let part = |name: &str| {
        let mut parts = connection.split(';').filter_map(|part| part.split_once('='));
        parts.find(|(one, _)| one.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    };
    let (Some(url), Some(key)) = (part("AccountEndpoint"), part("AccountKey")) else {
        bail!(
            "--cosmos must be a connection string with a key, \
             AccountEndpoint=https://…/;AccountKey=…;"
        );
    };
    let endpoint: AccountEndpoint =
        url.parse().map_err(|_| anyhow!("the AccountEndpoint of --cosmos is not a URL"))?;
    Ok(AccountReference::with_authentication_key(endpoint, key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_is_read_and_never_repeated() {
        for text in [
            "AccountEndpoint=https://a.documents.azure.com:443/;AccountKey=a2V5==;",
            " accountkey = a2V5 ; ACCOUNTENDPOINT=http://127.0.0.1:8081/",
        ] {
            reference(text).unwrap();
        }
        for text in ["", "a2V5", "AccountKey=a2V5", "AccountEndpoint=a2V5;AccountKey=a2V5"] {
            let error = format!("{:#}", reference(text).unwrap_err());
            assert!(error.contains("--cosmos") && !error.contains("a2V5"), "{error}");
        }
    }
}
