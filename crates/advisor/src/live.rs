//! A live container, and a random sample of it.

use std::{env, num::NonZeroU32, sync::Arc};

use anyhow::{Context, anyhow, ensure};
use azure_core::credentials::TokenCredential;
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, ContainerClient, CosmosClient, FeedScope, Query,
    RoutingStrategy,
    feed::QueryPageIterator,
    options::{
        FeedOptions, MaxItemCountHint, OperationOptions, PriorityLevel, QueryOptions,
        ThroughputControlOptionsBuilder, UserAgentSuffix,
    },
};
use azure_identity::{DeveloperToolsCredential, ManagedIdentityCredential};
use cosmos_model::partitioning::KeyStrategy;
use serde_json::value::RawValue;

mod draw;

pub(crate) use draw::{DrawnSample, MIN_REQUEST_UNITS};

const USER_AGENT: &str = "tributary-partition";

const FORMAT: &str = "--cosmos takes AccountEndpoint=https://…;AccountKey=…; or the URL of an account, which is \
                      then reached with the identity that is signed in";
const NO_IDENTITY: &str =
    "no identity is signed in: run `az login`, or give a connection string with a key";

const UNREACHABLE: &str = "the account cannot be reached";

pub(crate) struct LiveContainer {
    client: ContainerClient,
    pub(crate) key: KeyStrategy,
}

impl LiveContainer {
    /// Takes a connection string with a key, or a URL with the identity of the app or of the signed-in developer.
    pub(crate) async fn open(account: &str, database: &str, id: &str) -> anyhow::Result<Self> {
        let cosmos = connect(account).await?;
        let found = |error: azure_data_cosmos::CosmosError| {
            if error.status().is_not_found() {
                anyhow!("there is no container `{id}` in the database `{database}`")
            } else {
                anyhow::Error::new(error).context(UNREACHABLE)
            }
        };
        let client = cosmos.database_client(database).container_client(id, None).await;
        let client = client.map_err(found)?;
        let definition = client.read(None).await.map_err(found)?.into_model()?.partition_key;
        let paths: Vec<String> = definition.paths().iter().map(ToString::to_string).collect();
        let paths = paths.join(",");
        let key =
            paths.parse().with_context(|| format!("the partition key {paths} cannot be read"))?;
        Ok(Self { client, key })
    }

    async fn pages(
        &self,
        query: Query,
        page_items: u32,
    ) -> azure_data_cosmos::Result<QueryPageIterator<Box<RawValue>>> {
        let mut operation = OperationOptions::default();
        operation.throughput_control = Some(
            ThroughputControlOptionsBuilder::new().with_priority_level(PriorityLevel::Low).build(),
        );
        let page_items = NonZeroU32::new(page_items).unwrap_or(NonZeroU32::MIN);
        // By default, the SDK refuses a query of more than 100 physical partitions.
        let feed = FeedOptions::default()
            .with_max_item_count(MaxItemCountHint::Limit(page_items))
            .with_max_fan_out(u32::MAX);
        let options =
            QueryOptions::default().with_operation_options(operation).with_feed_options(feed);
        let scope = FeedScope::full_container();
        Ok(self.client.query_items(query, scope, Some(options)).await?.into_pages())
    }
}

async fn connect(cosmos: &str) -> anyhow::Result<CosmosClient> {
    let account = account(cosmos.trim())?;
    let mut builder = CosmosClient::builder();
    if let Ok(suffix) = UserAgentSuffix::try_from(USER_AGENT) {
        builder = builder.with_user_agent_suffix(suffix);
    }
    let client = builder.build(account, RoutingStrategy::PreferredRegions(Vec::new())).await;
    client.context(UNREACHABLE)
}

fn account(text: &str) -> anyhow::Result<AccountReference> {
    let part = |wanted: &str| {
        let parts = text.split(';').filter_map(|part| part.split_once('='));
        let mut found = parts.filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted));
        found.next().map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let url = part("AccountEndpoint");
    let endpoint: AccountEndpoint =
        url.as_deref().unwrap_or(text).parse().map_err(|_| anyhow!(FORMAT))?;
    ensure!(matches!(endpoint.url().scheme(), "https" | "http"), FORMAT);
    Ok(match part("AccountKey").filter(|_| url.is_some()) {
        Some(key) => AccountReference::with_authentication_key(endpoint, key),
        None => AccountReference::with_credential(endpoint, identity()?),
    })
}

fn identity() -> anyhow::Result<Arc<dyn TokenCredential>> {
    // App Service and Functions set the variable where an app has an identity.
    if env::var_os("IDENTITY_ENDPOINT").is_some() {
        return Ok(ManagedIdentityCredential::new(None).map_err(|_| anyhow!(NO_IDENTITY))?);
    }
    Ok(DeveloperToolsCredential::new(None).map_err(|_| anyhow!(NO_IDENTITY))?)
}
