//! Cosmos DB clients of a trigger's `connection`.

use azure_data_cosmos::options::{BinaryEncodingOptions, Region};
use azure_data_cosmos::{AccountEndpoint, AccountReference, CosmosClient, RoutingStrategy};
use azure_data_cosmos_driver::models::ConnectionString;

use super::settings::Settings;

/// Creates a client for the account that a setting's connection string names.
///
/// # Errors
///
/// The fault, as the end of a sentence; never the connection string itself.
pub(super) async fn client(settings: &Settings, name: &str) -> Result<CosmosClient, String> {
    match settings.get(name) {
        Some(text) => connect(text).await,
        None if settings.get(&format!("{name}__accountEndpoint")).is_some() => {
            Err("this stand-in reads changes with a connection string, not with an identity"
                .to_owned())
        }
        None => Err("it is missing in local.settings.json".to_owned()),
    }
}

/// Creates a client for the account of a connection string.
///
/// # Errors
///
/// The fault, as the end of a sentence; never the connection string itself.
pub async fn connect(connection_string: &str) -> Result<CosmosClient, String> {
    let parsed: ConnectionString = connection_string
        .parse()
        .map_err(|_| "it must be a connection string, AccountEndpoint=…;AccountKey=…".to_owned())?;
    let endpoint: AccountEndpoint = parsed
        .account_endpoint()
        .parse()
        .map_err(|_| "its AccountEndpoint is not a URL".to_owned())?;
    let account = AccountReference::with_authentication_key(endpoint, parsed.account_key().clone());
    // The Docker emulator lacks the binary encoding, which saves nothing here.
    let text = BinaryEncodingOptions::new().with_enabled(false);
    CosmosClient::builder()
        .with_binary_encoding_options(text)
        .build(account, RoutingStrategy::ProximityTo(Region::EAST_US))
        .await
        .map_err(|error| format!("the account does not answer: {error}"))
}
