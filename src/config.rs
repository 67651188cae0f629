//! Settings, read once at the start. The triggers of the Functions host use the same names.

use std::{env, fmt, num::NonZeroU32, sync::Arc};

use azure_core::credentials::TokenCredential;
use azure_data_cosmos::{AccountEndpoint, AccountReference};
use azure_identity::{
    DeveloperToolsCredential, ManagedIdentityCredential, ManagedIdentityCredentialOptions,
    UserAssignedId,
};

use crate::{
    blog::{audit, projections::RenameOptions},
    http::Authentication,
};

/// All settings of the handler.
#[derive(Debug)]
pub struct Config {
    /// The database of the account.
    pub cosmos: CosmosConfig,
    /// How the weekly audit goes about it: `Audit__Repair`, `true` to mend what it finds.
    pub audit: audit::Options,
    /// How renames go about it: `Rename__RequestUnitsPerSecond`, what they may spend, or 0 for no
    /// limit.
    pub rename: RenameOptions,
    /// How the app knows who calls: `Authentication__Mode`, `none` or `easyauth`.
    pub authentication: Authentication,
}

/// Where the store is and who we are there.
#[derive(Debug)]
pub struct CosmosConfig {
    /// The account and its credential.
    pub account: AccountReference,
    /// `CosmosDatabase`; `tributary` when it is not set.
    pub database: String,
}

/// A setting that is missing or bad, in one sentence.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// Looks a setting up by its name.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Config {
    /// Reads the settings from the environment.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(&|name| env::var(name).ok())
    }

    /// Reads the settings with a function that looks one up by its name.
    pub fn read(setting: Lookup<'_>) -> Result<Self, ConfigError> {
        let setting = |name: &str| setting(name).filter(|value| !value.trim().is_empty());
        Ok(Self {
            cosmos: CosmosConfig {
                account: account(&setting)?,
                database: setting("CosmosDatabase").unwrap_or_else(|| "tributary".into()),
            },
            audit: audit::Options {
                repair: switch(&setting, "Audit__Repair")?,
                ..Default::default()
            },
            rename: rename(&setting)?,
            authentication: authentication(&setting)?,
        })
    }
}

fn switch(setting: Lookup<'_>, name: &str) -> Result<bool, ConfigError> {
    match setting(name).map(|value| value.to_lowercase()).as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(error(format!("{name} must be true or false."))),
    }
}

fn rename(setting: Lookup<'_>) -> Result<RenameOptions, ConfigError> {
    const NAME: &str = "Rename__RequestUnitsPerSecond";
    let Some(text) = setting(NAME) else {
        return Ok(RenameOptions::default());
    };
    let rate = text.trim().parse::<u32>().map_err(|_| {
        error(format!(
            "{NAME} must be a whole number: what the renames of an instance may spend in a second, \
             or 0 for no limit."
        ))
    })?;
    Ok(RenameOptions { request_units_per_second: NonZeroU32::new(rate), ..Default::default() })
}

/// The mode `easyauth` believes headers that only the platform removes from what callers send, and
/// only while its authentication is on: where the platform says that it is not, there is no start.
fn authentication(setting: Lookup<'_>) -> Result<Authentication, ConfigError> {
    match setting("Authentication__Mode").map(|value| value.to_lowercase()).as_deref() {
        None | Some("none") => Ok(Authentication::None),
        Some("easyauth") => {
            let names = ["WEBSITE_SITE_NAME", "WEBSITE_INSTANCE_ID"];
            let in_azure = names.into_iter().any(|name| setting(name).is_some());
            if in_azure && !switch(setting, "WEBSITE_AUTH_ENABLED")? {
                return Err(error(
                    "Authentication__Mode is easyauth, but App Service Authentication is off: turn \
                     it on for this function app, or anybody could pretend to be any user.",
                ));
            }
            Ok(Authentication::EasyAuth)
        }
        Some(_) => Err(error("Authentication__Mode must be none or easyauth.")),
    }
}

fn account(setting: Lookup<'_>) -> Result<AccountReference, ConfigError> {
    if let Some(text) = setting("CosmosConnection") {
        return with_key(&text);
    }
    if let Some(url) = setting("CosmosConnection__accountEndpoint") {
        let endpoint = endpoint(&url, "CosmosConnection__accountEndpoint")?;
        return Ok(AccountReference::with_credential(endpoint, credential(setting)?));
    }
    Err(error(
        "Set CosmosConnection to a connection string (emulators), or \
         CosmosConnection__accountEndpoint to the account's URL (with an identity).",
    ))
}

fn with_key(text: &str) -> Result<AccountReference, ConfigError> {
    let mut url = None;
    let mut key = None;
    for part in text.split(';') {
        match part.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if name.eq_ignore_ascii_case("AccountEndpoint") => {
                url = Some(value);
            }
            Some((name, value)) if name.eq_ignore_ascii_case("AccountKey") => key = Some(value),
            _ => {}
        }
    }
    let (Some(url), Some(key)) = (url, key.filter(|key| !key.is_empty())) else {
        return Err(error(
            "CosmosConnection must look like AccountEndpoint=https://…/;AccountKey=…; \
             for an identity instead of a key set CosmosConnection__accountEndpoint.",
        ));
    };
    let endpoint = endpoint(url, "CosmosConnection")?;
    Ok(AccountReference::with_authentication_key(endpoint, key.to_owned()))
}

fn endpoint(url: &str, setting: &str) -> Result<AccountEndpoint, ConfigError> {
    let bad = |_| error(format!("{setting} does not contain a URL of a Cosmos DB account."));
    let endpoint: AccountEndpoint = url.parse().map_err(bad)?;
    match endpoint.url().scheme() {
        "https" | "http" => Ok(endpoint),
        _ => Err(error(format!("The URL in {setting} must begin with https://."))),
    }
}

/// The identity of the function app in Azure, or that of the developer on a laptop.
fn credential(setting: Lookup<'_>) -> Result<Arc<dyn TokenCredential>, ConfigError> {
    const NAME: &str = "CosmosConnection__credential";
    match setting(NAME) {
        Some(kind) if kind.eq_ignore_ascii_case("managedidentity") => {
            let user_assigned_id =
                setting("CosmosConnection__clientId").map(UserAssignedId::ClientId);
            let options =
                ManagedIdentityCredentialOptions { user_assigned_id, ..Default::default() };
            let credential = ManagedIdentityCredential::new(Some(options))
                .map_err(|_| error("The managed identity of this app cannot be used: check CosmosConnection__clientId."))?;
            Ok(credential)
        }
        Some(_) => Err(error(format!("{NAME} must be managedidentity, or not be set."))),
        None => {
            let credential = DeveloperToolsCredential::new(None).map_err(|_| {
                error(format!("Set {NAME} to managedidentity, or sign in with the Azure CLI."))
            })?;
            Ok(credential)
        }
    }
}

fn error(message: impl fmt::Display) -> ConfigError {
    ConfigError(message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::read(&|name| {
            settings.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_connection_string_is_enough() {
        let config = read(&[(
            "CosmosConnection",
            "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5Cg==;",
        )]);
        assert_eq!(config.unwrap().cosmos.database, "tributary");
    }

    #[test]
    fn an_identity_needs_no_key() {
        let endpoint = ("CosmosConnection__accountEndpoint", "https://a.documents.azure.com/");
        let identity = ("CosmosConnection__credential", "managedidentity");
        let client = ("CosmosConnection__clientId", "00000000-0000-0000-0000-000000000001");
        read(&[endpoint, identity, client]).unwrap();
        read(&[endpoint]).unwrap();
    }

    #[test]
    fn the_audit_repairs_only_when_it_is_told_to() {
        let store = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");
        assert!(!read(&[store]).unwrap().audit.repair);
        assert!(!read(&[store, ("Audit__Repair", "False")]).unwrap().audit.repair);
        assert!(read(&[store, ("Audit__Repair", "true")]).unwrap().audit.repair);
        let message = read(&[store, ("Audit__Repair", "yes")]).unwrap_err().to_string();
        assert!(message.contains("Audit__Repair"), "{message}");
    }

    #[test]
    fn renames_have_a_budget_unless_they_are_told_otherwise() {
        const NAME: &str = "Rename__RequestUnitsPerSecond";
        let rate = |settings: &[(&str, &str)]| {
            let store =
                ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");
            let config = read(&[&[store], settings].concat());
            config.map(|config| config.rename.request_units_per_second.map_or(0, NonZeroU32::get))
        };
        assert_eq!(rate(&[]).unwrap(), 400);
        assert_eq!(rate(&[(NAME, " 2500 ")]).unwrap(), 2_500);
        assert_eq!(rate(&[(NAME, "0")]).unwrap(), 0);
        for bad in ["-1", "1.5", "fast", "99999999999"] {
            let message = rate(&[(NAME, bad)]).unwrap_err().to_string();
            assert!(message.contains(NAME) && !message.contains(bad), "{message}");
        }
    }

    #[test]
    fn callers_are_believed_only_where_the_platform_vouches_for_them() {
        let store = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");
        let mode = |settings: &[(&str, &str)]| {
            let config = read(&[&[store], settings].concat());
            config.map(|config| config.authentication).map_err(|error| error.to_string())
        };
        let easyauth = ("Authentication__Mode", "EasyAuth");
        let site = ("WEBSITE_SITE_NAME", "tributary");
        let instance = ("WEBSITE_INSTANCE_ID", "1");
        let (on, off) = (("WEBSITE_AUTH_ENABLED", "True"), ("WEBSITE_AUTH_ENABLED", "False"));
        for settings in [&[][..], &[("Authentication__Mode", "none"), site], &[site, on]] {
            assert_eq!(mode(settings), Ok(Authentication::None), "{settings:?}");
        }
        for settings in [&[easyauth][..], &[easyauth, site, on], &[easyauth, instance, on]] {
            assert_eq!(mode(settings), Ok(Authentication::EasyAuth), "{settings:?}");
        }
        for settings in [&[easyauth, site][..], &[easyauth, instance, off]] {
            assert!(mode(settings).unwrap_err().contains("turn it on"), "{settings:?}");
        }
        for other in ["easy-auth", "true", "aad"] {
            let message = mode(&[("Authentication__Mode", other)]).unwrap_err();
            assert_eq!(message, "Authentication__Mode must be none or easyauth.");
        }
    }

    #[test]
    fn a_bad_setting_is_named_in_one_sentence_without_its_value() {
        for (settings, named) in [
            (&[][..], "CosmosConnection"),
            (&[("CosmosConnection", " ")], "CosmosConnection"),
            (&[("CosmosConnection", "secret")], "CosmosConnection must look like"),
            (
                &[("CosmosConnection", "AccountEndpoint=secret;AccountKey=secret")],
                "CosmosConnection",
            ),
            (&[("CosmosConnection", "AccountEndpoint=ftp://x/;AccountKey=secret")], "https://"),
            (
                &[("CosmosConnection__accountEndpoint", "secret")],
                "CosmosConnection__accountEndpoint",
            ),
            (
                &[
                    ("CosmosConnection__accountEndpoint", "https://a/"),
                    ("CosmosConnection__credential", "secret"),
                ],
                "CosmosConnection__credential",
            ),
        ] {
            let message = read(settings).unwrap_err().to_string();
            assert!(message.contains(named), "{message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }
}
