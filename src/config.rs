//! Settings, read once at the start. The triggers of the Functions host use the same names.

use std::{env, fmt, net::IpAddr, sync::Arc};

use azure_core::{credentials::TokenCredential, http::Url};
use azure_data_cosmos::{AccountEndpoint, AccountReference, RoutingStrategy, options::Region};
use azure_identity::{
    DeveloperToolsCredential, ManagedIdentityCredential, ManagedIdentityCredentialOptions,
    UserAssignedId,
};
use custom_handler::logs::Format;

use crate::blog::audit;

/// All settings of the handler.
#[derive(Debug)]
pub struct Config {
    /// The database of the account.
    pub cosmos: CosmosConfig,
    /// How the weekly audit goes about it: `Audit__Repair`, `true` to mend what it finds.
    pub audit: audit::Options,
    /// What is logged and where telemetry goes.
    pub telemetry: TelemetryConfig,
}

/// Where the store is and who we are there.
#[derive(Debug)]
pub struct CosmosConfig {
    /// The account and its credential.
    pub account: AccountReference,
    /// `CosmosDatabase`; `tributary` when it is not set.
    pub database: String,
    /// Which of the account's regions is asked first.
    pub routing: RoutingStrategy,
}

/// What is logged and where telemetry goes.
#[derive(Debug)]
pub struct TelemetryConfig {
    /// `Log__Format`: `json` or `text`. Without it, text where Core Tools or `cargo local` runs the
    /// handler (they set `AZURE_FUNCTIONS_ENVIRONMENT` to `Development`), and JSON elsewhere.
    pub format: Format,
    /// Whether traces and metrics are exported: when `OTEL_EXPORTER_OTLP_ENDPOINT` is set and
    /// `OTEL_SDK_DISABLED` is not `true`. An error says why they cannot be, which is no reason not to
    /// serve. The exporter reads its other settings itself.
    pub export: Result<bool, ConfigError>,
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
                routing: routing(&setting),
            },
            audit: audit::Options {
                repair: switch(&setting, "Audit__Repair")?,
                ..Default::default()
            },
            telemetry: TelemetryConfig { format: format(&setting)?, export: export(&setting) },
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

fn format(setting: Lookup<'_>) -> Result<Format, ConfigError> {
    let is_local = setting("AZURE_FUNCTIONS_ENVIRONMENT")
        .is_some_and(|environment| environment.eq_ignore_ascii_case("Development"));
    let usual = if is_local { "text" } else { "json" };
    match setting("Log__Format").map_or(usual.into(), |value| value.to_lowercase()).as_str() {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err(error("Log__Format must be json or text.")),
    }
}

fn export(setting: Lookup<'_>) -> Result<bool, ConfigError> {
    const PROTOCOL: &str = "http/protobuf";
    let endpoint = setting("OTEL_EXPORTER_OTLP_ENDPOINT");
    let Some(endpoint) = endpoint.filter(|_| switch(setting, "OTEL_SDK_DISABLED") != Ok(true))
    else {
        return Ok(false);
    };
    if !Url::parse(&endpoint).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
        return Err(error(
            "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4318.",
        ));
    }
    match setting("OTEL_EXPORTER_OTLP_PROTOCOL") {
        Some(other) if other != PROTOCOL => Err(error(format!(
            "OTEL_EXPORTER_OTLP_PROTOCOL must be {PROTOCOL}, or not be set: send to the collector's \
             port for HTTP, which is 4318."
        ))),
        _ => Ok(true),
    }
}

/// `Cosmos__PreferredRegions` in its order; else all regions by their distance from the one that
/// the app runs in, which App Service names in `REGION_NAME`; else (a laptop, an emulator) in the
/// account's own order.
fn routing(setting: Lookup<'_>) -> RoutingStrategy {
    let preferred = setting("Cosmos__PreferredRegions").unwrap_or_default();
    let preferred = preferred.split(',').map(str::trim).filter(|name| !name.is_empty());
    let preferred: Vec<Region> = preferred.map(|name| Region::from(name.to_owned())).collect();
    match setting("REGION_NAME") {
        Some(here) if preferred.is_empty() => RoutingStrategy::ProximityTo(Region::from(here)),
        _ => RoutingStrategy::PreferredRegions(preferred),
    }
}

fn account(setting: Lookup<'_>) -> Result<AccountReference, ConfigError> {
    if let Some(text) = setting("CosmosConnection") {
        return with_key(setting, &text);
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

fn with_key(setting: Lookup<'_>, text: &str) -> Result<AccountReference, ConfigError> {
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
    if !is_emulator(&endpoint, setting("AZURE_COSMOS_EMULATOR_HOST").as_deref()) {
        return Err(error(
            "CosmosConnection has a key, and keys are for emulators only: remove it and set \
             CosmosConnection__accountEndpoint to the account's URL, to be reached with an identity.",
        ));
    }
    Ok(AccountReference::with_authentication_key(endpoint, key.to_owned()))
}

/// An emulator is on this machine, or where `AZURE_COSMOS_EMULATOR_HOST` says: the SDK's own
/// variable, for a container of a compose network. It makes no emulator of an account in Azure.
fn is_emulator(endpoint: &AccountEndpoint, named: Option<&str>) -> bool {
    let host = endpoint.url().host_str().unwrap_or_default().to_lowercase();
    let is_loopback = host == "localhost"
        || host.trim_matches(['[', ']']).parse().is_ok_and(|address: IpAddr| address.is_loopback());
    let is_in_azure = host.contains(".documents.") || host.contains(".cosmos.");
    is_loopback || !is_in_azure && named.is_some_and(|named| named.eq_ignore_ascii_case(&host))
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
    let kind = setting(NAME).map(|kind| kind.to_lowercase());
    // An app in Azure has no developer who has signed in; the host's own triggers take its identity
    // there, too, when the setting is missing.
    let is_in_azure = setting("IDENTITY_ENDPOINT").is_some();
    match kind.as_deref() {
        Some("managedidentity") => managed_identity(setting),
        None if is_in_azure => managed_identity(setting),
        Some(_) => Err(error(format!("{NAME} must be managedidentity, or not be set."))),
        None => {
            let credential = DeveloperToolsCredential::new(None).map_err(|_| {
                error(format!("Set {NAME} to managedidentity, or sign in with the Azure CLI."))
            })?;
            Ok(credential)
        }
    }
}

fn managed_identity(setting: Lookup<'_>) -> Result<Arc<dyn TokenCredential>, ConfigError> {
    let user_assigned_id = setting("CosmosConnection__clientId").map(UserAssignedId::ClientId);
    let options = ManagedIdentityCredentialOptions { user_assigned_id, ..Default::default() };
    let credential = ManagedIdentityCredential::new(Some(options)).map_err(|_| {
        error("The managed identity of this app cannot be used: check CosmosConnection__clientId.")
    })?;
    Ok(credential)
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
        let in_azure = ("IDENTITY_ENDPOINT", "http://127.0.0.1:41001/msi/token");
        read(&[endpoint, identity, client]).unwrap();
        read(&[endpoint, client, in_azure]).unwrap();
        read(&[endpoint]).unwrap();
    }

    #[test]
    fn a_key_is_for_emulators_only() {
        let connect = |host: &str, named: &str| {
            let text = format!("AccountEndpoint=https://{host}:8081/;AccountKey=a2V5");
            read(&[("CosmosConnection", &text), ("AZURE_COSMOS_EMULATOR_HOST", named)])
        };
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "[::1]"] {
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
    fn regions_are_preferred_as_told_else_by_their_distance() {
        let store = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");
        let here = ("REGION_NAME", "North Europe");
        let preferred = ("Cosmos__PreferredRegions", "West Europe, northeurope,");
        let routing = |settings: &[_]| format!("{:?}", read(settings).unwrap().cosmos.routing);
        let told = format!(
            "{:?}",
            RoutingStrategy::PreferredRegions(vec![Region::WEST_EUROPE, Region::NORTH_EUROPE])
        );
        assert_eq!(routing(&[store, here, preferred]), told);
        let near = format!("{:?}", RoutingStrategy::ProximityTo(Region::NORTH_EUROPE));
        assert_eq!(routing(&[store, here]), near);
        let any = format!("{:?}", RoutingStrategy::PreferredRegions(Vec::new()));
        assert_eq!(routing(&[store]), any);
    }

    #[test]
    fn lines_are_text_on_a_laptop_and_json_elsewhere() {
        let store = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");
        let local = ("AZURE_FUNCTIONS_ENVIRONMENT", "Development");
        let format = |settings: &[_]| read(settings).unwrap().telemetry.format;
        assert_eq!(format(&[store]), Format::Json);
        assert_eq!(format(&[store, local]), Format::Text);
        assert_eq!(format(&[store, local, ("Log__Format", "JSON")]), Format::Json);
        assert_eq!(format(&[store, ("Log__Format", "text")]), Format::Text);
        let message = read(&[store, ("Log__Format", "xml")]).unwrap_err().to_string();
        assert!(message.contains("Log__Format"), "{message}");
    }

    #[test]
    fn telemetry_is_exported_only_to_an_endpoint_that_is_set() {
        let store = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        let export = |settings: &[_]| read(settings).unwrap().telemetry.export;
        assert_eq!(export(&[store]), Ok(false));
        assert_eq!(export(&[store, endpoint]), Ok(true));
        assert_eq!(export(&[store, endpoint, ("OTEL_SDK_DISABLED", "true")]), Ok(false));
        for (bad, named) in [
            (
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")][..],
                "OTEL_EXPORTER_OTLP_ENDPOINT",
            ),
            (&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "OTEL_EXPORTER_OTLP_PROTOCOL"),
        ] {
            let message = export(&[&[store], bad].concat()).unwrap_err().to_string();
            assert!(message.contains(named), "{message}");
        }
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
