//! App settings: the values of `local.settings.json`, and the handler's environment variables.

use std::collections::BTreeMap;
use std::path::Path;

use azure_data_cosmos::options::{BinaryEncodingOptions, Region};
use azure_data_cosmos::{AccountEndpoint, AccountReference, CosmosClient, RoutingStrategy};
use azure_data_cosmos_driver::models::ConnectionString;
use cosmos_store::http::callers;
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;

use super::json::{ConfigError, Node, read_json};

/// The prefix of settings that override a value of `host.json`.
pub(super) const HOST_JSON_PREFIX: &str = "AzureFunctionsJobHost__";

/// The app settings, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<String, String>,
    pub(crate) local: LocalOptions,
}

/// The `Host` of a `local.settings.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LocalOptions {
    /// `LocalHttpPort`.
    pub(crate) port: Option<u16>,
    /// `CORS`: the sites whose pages may call the app.
    pub(crate) cors: Vec<String>,
    /// Settings that have no effect here.
    pub(crate) warnings: Vec<String>,
}

impl LocalOptions {
    fn read(root: &Node<'_>) -> Result<Self, ConfigError> {
        let mut local = Self::default();
        local.warn_of_others(root, &["$schema", "IsEncrypted", "Values", "Host"]);
        let host = root.object("Host")?;
        local.warn_of_others(&host, &["LocalHttpPort", "CORS"]);
        let port = host.integer("LocalHttpPort")?.map(u16::try_from).transpose();
        local.port = port.map_err(|_| host.error("LocalHttpPort", "must be a port, 0 to 65535"))?;
        let sites = host.string("CORS")?.unwrap_or_default().split(',');
        let sites = sites.map(|site| site.trim().trim_end_matches('/').to_owned());
        local.cors = sites.filter(|site| !site.is_empty()).collect();
        Ok(local)
    }

    fn warn_of_others(&mut self, node: &Node<'_>, known: &[&str]) {
        let others = node.entries().filter(|(field, _)| !known.contains(&field.as_str()));
        let warning =
            |(field, _): (&String, _)| node.sentence(field, "has no effect in this stand-in");
        self.warnings.extend(others.map(warning));
    }

    /// Returns the headers with which a browser lets the page of a request read the answer, and send what it asks
    /// to send. None for a page of another site.
    pub(super) fn cors_headers(&self, request: &HeaderMap) -> HeaderMap {
        let origin = request.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
        if !origin.is_some_and(|origin| callers::is_listed(&self.cors, origin)) {
            return HeaderMap::new();
        }
        let allowed = [
            (header::ORIGIN, header::ACCESS_CONTROL_ALLOW_ORIGIN),
            (header::ACCESS_CONTROL_REQUEST_METHOD, header::ACCESS_CONTROL_ALLOW_METHODS),
            (header::ACCESS_CONTROL_REQUEST_HEADERS, header::ACCESS_CONTROL_ALLOW_HEADERS),
        ];
        let allowed = allowed
            .into_iter()
            .filter_map(|(asked, name)| Some((name, request.get(asked)?.clone())));
        allowed.chain([(header::VARY, HeaderValue::from_static("Origin"))]).collect()
    }
}

impl Settings {
    /// Reads a `local.settings.json`: its `Values`, and its `Host` for the host that runs with them.
    ///
    /// # Errors
    /// If the file cannot be read, is encrypted, or a value is not a string.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let (file, json) = read_json(path)?;
        let root = Node::root(&file, &json)?;
        if root.boolean("IsEncrypted")? == Some(true) {
            return Err(root.error(
                "IsEncrypted",
                "is true: run `func settings decrypt`, since only Core Tools has the key",
            ));
        }
        let mut settings = Self { local: LocalOptions::read(&root)?, ..Self::default() };
        let values = root.object("Values")?;
        for (name, value) in values.entries() {
            let Value::String(text) = value else {
                return Err(values.error(
                    name,
                    "must be a string: it becomes an environment variable, so write numbers and \
                     booleans in quotes",
                ));
            };
            settings.set(name, text);
        }
        Ok(settings)
    }

    /// Lets environment variables win over the settings, as Core Tools does, and adds those that
    /// override a value of `host.json`.
    #[must_use]
    pub fn overridden_by(mut self, environment: impl Iterator<Item = (String, String)>) -> Self {
        for (name, value) in environment {
            if self.values.contains_key(&name) || name.starts_with(HOST_JSON_PREFIX) {
                self.values.insert(name, value);
            }
        }
        self
    }

    /// Returns the value of a setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    }

    /// Sets one setting.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.values.insert(name.into(), value.into());
    }

    /// Replaces a connection in any form by a connection string.
    pub fn set_connection(&mut self, name: &str, connection_string: &str) {
        let identity = format!("{name}__");
        self.values.retain(|setting, _| !setting.starts_with(&identity));
        self.set(name, connection_string);
    }

    /// Returns all settings, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Replaces every `%Name%` in a binding's text by that setting.
    ///
    /// # Errors
    /// The name of the first setting that does not exist.
    pub fn resolve(&self, text: &str) -> Result<String, String> {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('%') {
            let Some((name, after)) = after.split_once('%') else {
                break;
            };
            resolved.push_str(before);
            resolved.push_str(self.get(name).ok_or_else(|| name.to_owned())?);
            rest = after;
        }
        resolved.push_str(rest);
        Ok(resolved)
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Settings {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let values = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { values, ..Self::default() }
    }
}

/// Creates a client for the account of a setting's connection string. The fault is the end of a sentence.
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
