//! The account: its address and our identity.

use std::{env, sync::Arc};

use azure_core::credentials::TokenCredential;
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, CosmosClient, CosmosError, RoutingStrategy,
    options::UserAgentSuffix,
};
use azure_identity::{DeveloperToolsCredential, ManagedIdentityCredential};
use thiserror::Error;

/// The user agent of our requests in the account's `DataPlaneRequests` log.
const USER_AGENT: &str = "tributary-partition";

/// The error of a missing connection to an account. No message has a key.
#[derive(Debug, Error)]
pub enum ConnectionError {
    /// Neither a connection string nor an endpoint.
    #[error(
        "--cosmos takes AccountEndpoint=https://…;AccountKey=…; or the URL of an account, which is then \
         reached with the identity that is signed in"
    )]
    Format,
    /// No identity.
    #[error("no identity is signed in: run `az login`, or give a connection string with a key")]
    Identity,
    /// The account does not answer.
    #[error("the account cannot be reached")]
    Store(#[from] CosmosError),
}

pub(super) async fn connect(cosmos: &str) -> Result<CosmosClient, ConnectionError> {
    let account = account(cosmos.trim())?;
    let mut builder = CosmosClient::builder();
    if let Ok(suffix) = UserAgentSuffix::try_from(USER_AGENT) {
        builder = builder.with_user_agent_suffix(suffix);
    }
    Ok(builder.build(account, RoutingStrategy::PreferredRegions(Vec::new())).await?)
}

fn account(text: &str) -> Result<AccountReference, ConnectionError> {
    let part = |wanted: &str| {
        let parts = text.split(';').filter_map(|part| part.split_once('='));
        let mut found = parts.filter(|(name, _)| name.trim().eq_ignore_ascii_case(wanted));
        found.next().map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    match (part("AccountEndpoint"), part("AccountKey")) {
        (Some(url), Some(key)) => {
            Ok(AccountReference::with_authentication_key(endpoint(&url)?, key))
        }
        (Some(url), None) => Ok(AccountReference::with_credential(endpoint(&url)?, identity()?)),
        (None, _) => Ok(AccountReference::with_credential(endpoint(text)?, identity()?)),
    }
}

fn endpoint(url: &str) -> Result<AccountEndpoint, ConnectionError> {
    let endpoint: AccountEndpoint = url.parse().map_err(|_| ConnectionError::Format)?;
    match endpoint.url().scheme() {
        "https" | "http" => Ok(endpoint),
        _ => Err(ConnectionError::Format),
    }
}

fn identity() -> Result<Arc<dyn TokenCredential>, ConnectionError> {
    // App Service and Functions set the variable where an app has an identity.
    if env::var_os("IDENTITY_ENDPOINT").is_some() {
        return Ok(ManagedIdentityCredential::new(None).map_err(|_| ConnectionError::Identity)?);
    }
    Ok(DeveloperToolsCredential::new(None).map_err(|_| ConnectionError::Identity)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_or_a_url_names_an_account() {
        for good in [
            "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5Cg==;",
            " accountkey=a2V5Cg==; ACCOUNTENDPOINT=https://a.documents.azure.com:443/ ",
        ] {
            assert!(account(good).is_ok(), "{good}");
        }
        for bad in ["", "AccountKey=sesame", "ftp://a/", "AccountEndpoint=sesame;AccountKey=sesame"]
        {
            let message = account(bad).unwrap_err().to_string();
            assert!(message.contains("--cosmos takes") && !message.contains("sesame"), "{message}");
        }
    }
}
