//! The account: its address and our identity.

use std::{env, sync::Arc};

use anyhow::{Context, anyhow, ensure};
use azure_core::credentials::TokenCredential;
use azure_data_cosmos::{
    AccountEndpoint, AccountReference, CosmosClient, RoutingStrategy, options::UserAgentSuffix,
};
use azure_identity::{DeveloperToolsCredential, ManagedIdentityCredential};

const USER_AGENT: &str = "tributary-partition";

const FORMAT: &str = "--cosmos takes AccountEndpoint=https://…;AccountKey=…; or the URL of an account, which is \
                      then reached with the identity that is signed in";
const NO_IDENTITY: &str =
    "no identity is signed in: run `az login`, or give a connection string with a key";

pub(super) async fn connect(cosmos: &str) -> anyhow::Result<CosmosClient> {
    let account = account(cosmos.trim())?;
    let mut builder = CosmosClient::builder();
    if let Ok(suffix) = UserAgentSuffix::try_from(USER_AGENT) {
        builder = builder.with_user_agent_suffix(suffix);
    }
    let client = builder.build(account, RoutingStrategy::PreferredRegions(Vec::new())).await;
    client.context(super::UNREACHABLE)
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
