//! The account of the store: its address, and the identity of the app there.

use std::{net::IpAddr, sync::Arc};

use azure_core::credentials::TokenCredential;
use azure_data_cosmos::{AccountEndpoint, AccountReference};
use azure_identity::{
    DeveloperToolsCredential, ManagedIdentityCredential, ManagedIdentityCredentialOptions,
    UserAssignedId,
};

use super::{ConfigError, Settings, error};

/// Commands decide by reads of the latest state, which is that of the region that answers.
const ONE_REGION: &str = "Remove Cosmos__PreferredRegions, and all regions of the account but the one it writes in: \
     a second region may lag, and commands decide by what they read.";

pub(super) fn account(settings: Settings<'_>) -> Result<AccountReference, ConfigError> {
    if settings.text("Cosmos__PreferredRegions").is_some() {
        return Err(error(ONE_REGION));
    }
    if let Some(text) = settings.text("CosmosConnection") {
        return with_key(settings, &text);
    }
    if let Some(url) = settings.text("CosmosConnection__accountEndpoint") {
        let endpoint = endpoint(&url, "CosmosConnection__accountEndpoint")?;
        return Ok(AccountReference::with_credential(endpoint, credential(settings)?));
    }
    Err(error(
        "Set CosmosConnection to a connection string (emulators), or \
         CosmosConnection__accountEndpoint to the account's URL (with an identity).",
    ))
}

fn with_key(settings: Settings<'_>, text: &str) -> Result<AccountReference, ConfigError> {
    let part = |wanted: &str| {
        let mut parts = text.split(';').rev().filter_map(|part| part.split_once('='));
        let found = parts.find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    };
    let Some((url, key)) = part("AccountEndpoint").zip(part("AccountKey")) else {
        return Err(error(
            "CosmosConnection must look like AccountEndpoint=https://…/;AccountKey=…; \
             for an identity instead of a key set CosmosConnection__accountEndpoint.",
        ));
    };
    let endpoint = endpoint(url, "CosmosConnection")?;
    if !is_emulator(&endpoint, settings.text("AZURE_COSMOS_EMULATOR_HOST").as_deref()) {
        return Err(error(
            "CosmosConnection has a key, and keys are for emulators only: remove it and set \
             CosmosConnection__accountEndpoint to the account's URL, to be reached with an identity.",
        ));
    }
    Ok(AccountReference::with_authentication_key(endpoint, key.to_owned()))
}

/// An emulator is on this machine, or at the host of `AZURE_COSMOS_EMULATOR_HOST`, the SDK's own variable.
fn is_emulator(endpoint: &AccountEndpoint, named: Option<&str>) -> bool {
    let host = endpoint.url().host_str().unwrap_or_default().to_lowercase();
    let is_loopback = host == "localhost"
        || host.trim_matches(['[', ']']).parse().is_ok_and(|address: IpAddr| address.is_loopback());
    let is_in_azure = host.contains(".documents.") || host.contains(".cosmos.");
    is_loopback || !is_in_azure && named.is_some_and(|named| named.eq_ignore_ascii_case(&host))
}

fn endpoint(url: &str, name: &str) -> Result<AccountEndpoint, ConfigError> {
    let bad = |_| error(format!("{name} does not contain a URL of a Cosmos DB account."));
    let endpoint: AccountEndpoint = url.parse().map_err(bad)?;
    match endpoint.url().scheme() {
        "https" | "http" => Ok(endpoint),
        _ => Err(error(format!("The URL in {name} must begin with https://."))),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Identity {
    Managed(Option<String>),
    Developer,
}

/// In Azure it is managed also without the setting, as for the host's own triggers.
fn identity(settings: Settings<'_>) -> Result<Identity, ConfigError> {
    let is_in_azure = settings.text("IDENTITY_ENDPOINT").is_some();
    match settings.text(CREDENTIAL).map(|kind| kind.to_lowercase()).as_deref() {
        None if !is_in_azure => Ok(Identity::Developer),
        None | Some("managedidentity") => {
            Ok(Identity::Managed(settings.text("CosmosConnection__clientId")))
        }
        Some(_) => Err(error(format!("{CREDENTIAL} must be managedidentity, or not be set."))),
    }
}

const CREDENTIAL: &str = "CosmosConnection__credential";

fn credential(settings: Settings<'_>) -> Result<Arc<dyn TokenCredential>, ConfigError> {
    Ok(match identity(settings)? {
        Identity::Managed(client_id) => {
            let user_assigned_id = client_id.map(UserAssignedId::ClientId);
            let options =
                ManagedIdentityCredentialOptions { user_assigned_id, ..Default::default() };
            ManagedIdentityCredential::new(Some(options)).map_err(|_| {
                error("The managed identity of this app cannot be used: check CosmosConnection__clientId.")
            })?
        }
        Identity::Developer => DeveloperToolsCredential::new(None).map_err(|_| {
            error(format!("Set {CREDENTIAL} to managedidentity, or sign in with the Azure CLI."))
        })?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::read;

    #[test]
    fn the_identity_is_that_of_the_app_in_azure_and_of_the_developer_elsewhere() {
        let who = |settings: &[(&str, &str)]| {
            identity(Settings::new(&|name| {
                let mut settings = settings.iter();
                settings.find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            }))
        };
        let named = (CREDENTIAL, "ManagedIdentity");
        let client = ("CosmosConnection__clientId", "an-id");
        let in_azure = ("IDENTITY_ENDPOINT", "http://127.0.0.1:41001/msi/token");
        assert_eq!(who(&[]), Ok(Identity::Developer));
        assert_eq!(who(&[in_azure]), Ok(Identity::Managed(None)));
        assert_eq!(who(&[in_azure, client]), Ok(Identity::Managed(Some("an-id".into()))));
        assert_eq!(who(&[named, client]), Ok(Identity::Managed(Some("an-id".into()))));
        assert!(who(&[(CREDENTIAL, "key")]).is_err());
    }

    #[test]
    fn a_key_is_for_emulators_only() {
        let connect = |host: &str, named: &str| {
            let text = format!("AccountEndpoint=https://{host}:8081/;AccountKey=a2V5");
            read(&[("CosmosConnection", &text), ("AZURE_COSMOS_EMULATOR_HOST", named)])
        };
        for host in ["LOCALHOST", "127.1.2.3", "[::1]"] {
            connect(host, "").unwrap();
        }
        connect("cosmosdb", "CosmosDB").unwrap();
        let account = "a.documents.azure.com";
        for (host, named) in [
            (account, ""),
            (account, account),
            ("localhost.documents.azure.com", ""),
            ("a.documents.azure.cn", "a.documents.azure.cn"),
            ("cosmosdb", ""),
            ("cosmosdb", "other"),
            ("10.0.0.4", ""),
        ] {
            let message = connect(host, named).unwrap_err().to_string();
            assert!(message.contains("CosmosConnection__accountEndpoint"), "{message}");
            assert!(!message.contains("a2V5"), "{message}");
        }
    }

    #[test]
    fn regions_to_read_in_are_refused_with_the_reason() {
        let store = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");
        let regions = |names| read(&[store, ("Cosmos__PreferredRegions", names)]);
        let message = regions("West Europe, northeurope").unwrap_err().to_string();
        assert!(message.contains("Remove Cosmos__PreferredRegions"), "{message}");
        assert!(message.contains("may lag"), "{message}");
        regions("").unwrap();
    }
}
