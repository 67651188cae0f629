//! A function app: its `host.json` and its functions.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cargo_tributary::package::function_folders;
use custom_handler::is_function_name;
use http::Method;
use serde_json::{Map, Value};

use super::HandlerOptions;
use super::function::{CosmosTrigger, Function, FunctionTrigger, HttpTrigger};
use super::json::{ConfigError, Node, parse_time_span, read_json};
use super::routes::Template;
use super::settings::{HOST_JSON_PREFIX, Settings};

/// All functions of an app folder.
#[derive(Debug, Clone)]
pub struct FunctionApp {
    host: HostJson,
    functions: Vec<Function>,
    disabled: Vec<String>,
    /// HTTP functions that a setting disables: their routes stay.
    closed: Vec<Function>,
    pub(super) has_homepage: bool,
    warnings: Vec<String>,
}

/// The values of `host.json` that this stand-in uses. Paths are relative to the app folder.
#[derive(Debug, Clone)]
pub struct HostJson {
    /// The handler's executable.
    pub executable: String,
    pub(crate) working_directory: String,
    pub(crate) arguments: Vec<String>,
    route_prefix: String,
    /// `None` for no limit.
    pub(crate) function_timeout: Option<Duration>,
    /// True unless `extensions.cosmosDB.serializerSettings.dateParseHandling` is `None`.
    parses_dates: bool,
}

impl FunctionApp {
    /// Reads a folder: `host.json`, and the functions in child folders (as staged and deployed) or in
    /// `functions/` (as in a project).
    ///
    /// # Errors
    /// Every fault of every file, as a sentence that names file and field.
    pub fn load(root: &Path, settings: &Settings) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let mut warnings = Vec::new();
        let mut functions = Vec::new();
        let mut disabled = Vec::new();
        let mut closed = Vec::new();
        let host = HostJson::load(root, settings).map_err(|error| problems.extend(error.0));
        let found = function_folders(root).map_err(|error| {
            ConfigError::new(format!("{}: cannot be read: {error}", root.display()))
        })?;
        for (name, folder) in found {
            match load_function(&name, &folder, settings, &mut warnings) {
                Ok((function, true)) => functions.extend(function),
                Ok((function, false)) => {
                    disabled.push(name);
                    closed.extend(function);
                }
                Err(error) => problems.extend(error.0),
            }
        }
        if functions.is_empty() && disabled.is_empty() && problems.is_empty() {
            problems.push(format!("{}: there is no function.json in any child", root.display()));
        }
        problems.extend(shared_leases(&functions));
        let (Ok(host), true) = (host, problems.is_empty()) else {
            return Err(ConfigError(problems));
        };
        for function in functions.iter_mut().chain(&mut closed) {
            match &mut function.trigger {
                FunctionTrigger::Cosmos(trigger) => trigger.parses_dates = host.parses_dates,
                FunctionTrigger::Http(http) if !host.route_prefix.is_empty() => {
                    http.route = format!("{}/{}", host.route_prefix, http.route);
                    http.template = Template::parse(&http.route).map_err(|fault| {
                        let place = "host.json: extensions.http.routePrefix";
                        ConfigError::new(format!("{place} {fault}"))
                    })?;
                }
                _ => {}
            }
        }
        let has_homepage = !settings.is_true("AzureWebJobsDisableHomepage");
        Ok(Self { host, functions, disabled, closed, has_homepage, warnings })
    }

    /// Returns the functions that are not disabled, by name.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Returns the function of a name, in either case.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name.eq_ignore_ascii_case(name))
    }

    /// Returns the functions that `disabled` or a setting disables. `disabled` has no effect on an HTTP
    /// function, as in the host.
    pub fn disabled(&self) -> &[String] {
        &self.disabled
    }

    /// Returns the HTTP function of a request, also a disabled one: a route that matches path and method. Of
    /// several, a literal wins over a parameter, and a parameter over a catch-all, at the first segment where they
    /// differ (ASP.NET's inbound precedence). Of equal ones, the first by name wins (ordinal, in either case).
    pub fn route(&self, method: &Method, path: &str) -> Option<(&Function, &HttpTrigger)> {
        let all = self.functions.iter().chain(&self.closed);
        let all = all.filter_map(|function| Some((function, function.http()?)));
        let matching = all.filter(|(_, http)| http.takes(method) && http.template.matches(path));
        matching.min_by_key(|(function, http)| {
            (http.template.precedence(), function.name.to_ascii_uppercase())
        })
    }

    pub(crate) fn openapi_route(&self) -> Option<&str> {
        let routes = self.functions.iter().filter_map(Function::http).map(|http| &*http.route);
        routes.into_iter().find(|route| route.ends_with("openapi.json"))
    }

    /// Returns warnings of settings that the real host ignores in silence.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the values of `host.json`.
    pub fn host(&self) -> &HostJson {
        &self.host
    }
}

impl HostJson {
    fn load(root: &Path, settings: &Settings) -> Result<Self, ConfigError> {
        let (file, mut json) = read_json(&root.join("host.json"))?;
        for (name, value) in settings.iter() {
            if let Some(path) = name.strip_prefix(HOST_JSON_PREFIX) {
                override_value(&mut json, &path.split("__").collect::<Vec<_>>(), value);
            }
        }
        let root = Node::root(&file, &json)?;
        if root.string("version")? != Some("2.0") {
            return Err(root.error("version", "must be \"2.0\""));
        }
        let handler = root.object("customHandler")?;
        let description = handler.object("description")?;
        let executable = description.required("defaultExecutablePath", "it names the handler")?;
        if executable.starts_with("./") {
            return Err(description.error(
                "defaultExecutablePath",
                "must not begin with ./: Core Tools makes only a file of exactly that name \
                 executable",
            ));
        }
        if handler.boolean("enableProxyingHttpRequest")? != Some(true) {
            return Err(handler.error(
                "enableProxyingHttpRequest",
                "must be true: forwarding rebuilds requests and loses chunked bodies, so this \
                 stand-in only hands requests through",
            ));
        }
        let directory = description.string("workingDirectory")?.unwrap_or_default();
        let arguments = description.strings("arguments")?;
        let prefix = root.object("extensions.http")?.string("routePrefix")?.unwrap_or("api");
        Ok(Self {
            executable: executable.to_owned(),
            working_directory: directory.to_owned(),
            arguments: arguments.into_iter().map(str::to_owned).collect(),
            route_prefix: prefix.trim_matches('/').to_owned(),
            function_timeout: read_timeout(&root)?,
            parses_dates: parses_dates(&root)?,
        })
    }
}

fn read_timeout(root: &Node<'_>) -> Result<Option<Duration>, ConfigError> {
    match root.string("functionTimeout")? {
        None => Ok(Some(Duration::from_mins(30))),
        Some("-1" | "-00:00:01") => Ok(None),
        Some(text) => parse_time_span(text)
            .filter(|span| !span.is_zero())
            .map(Some)
            .ok_or_else(|| root.error("functionTimeout", "must be a time span such as 00:10:00")),
    }
}

fn parses_dates(root: &Node<'_>) -> Result<bool, ConfigError> {
    let settings = root.object("extensions.cosmosDB.serializerSettings")?;
    match settings.string("dateParseHandling")?.unwrap_or("DateTime") {
        text if text.eq_ignore_ascii_case("DateTime") => Ok(true),
        text if text.eq_ignore_ascii_case("None") => Ok(false),
        _ => Err(settings.error(
            "dateParseHandling",
            "must be None or DateTime: this stand-in writes no other dates",
        )),
    }
}

/// Returns a function, and whether it is enabled. A disabled one is present if its route stays.
fn load_function(
    name: &str,
    folder: &Path,
    settings: &Settings,
    warnings: &mut Vec<String>,
) -> Result<(Option<Function>, bool), ConfigError> {
    let (file, json) = read_json(&folder.join("function.json"))?;
    let root = Node::root(&file, &json)?;
    if !is_function_name(name) {
        return Err(root.error(
            "(the folder's name)",
            "must be a letter and at most 127 letters, digits, _ or -, and not `host`",
        ));
    }
    let others = std::fs::read_dir(folder).map_or(0, |entries| entries.count().saturating_sub(1));
    if others == 1 {
        let fault = "has one other file beside it, which the host takes for its script";
        warnings.push(root.sentence("(the folder)", fault));
    }
    // On Linux the names of settings have no dots.
    let names = [format!("AzureWebJobs.{name}.Disabled"), format!("AzureWebJobs_{name}_Disabled")];
    let switched_off = names.iter().any(|name| settings.is_true(name));
    let disabled = root.boolean("disabled")? == Some(true);
    let is_http = |function: &Function| function.http().is_some();
    if !switched_off && !disabled {
        let function = Function::read(name, &root, settings, warnings)?;
        return Ok((Some(function), true));
    }
    // Faults of a disabled function do not keep the app from starting.
    let function = Function::read(name, &root, settings, &mut Vec::new()).ok().filter(is_http);
    let is_enabled = function.is_some() && !switched_off;
    Ok((function, is_enabled))
}

/// Returns warnings of triggers with the same lease items: each sees only a part of the changes.
fn shared_leases(functions: &[Function]) -> Vec<String> {
    let mut owners = BTreeMap::new();
    let mut problems = Vec::new();
    for function in functions {
        let Some(trigger) = function.cosmos() else { continue };
        let CosmosTrigger { connection, lease_database, lease_container, lease_prefix, .. } =
            trigger;
        let place = (connection, lease_database, lease_container, lease_prefix);
        if let Some(other) = owners.insert(place, &function.name) {
            let name = &function.name;
            problems.push(format!(
                "{name}/function.json: leaseContainerPrefix {lease_prefix:?} is also that of \
                 {other}: two functions with one prefix steal each other's changes"
            ));
        }
    }
    problems
}

/// Sets `a.b.c` from an override; its names match in either case, as in .NET's configuration.
fn override_value(json: &mut Value, path: &[&str], text: &str) {
    let [name, rest @ ..] = path else {
        *json = serde_json::from_str(text)
            .ok()
            .filter(|value: &Value| value.is_boolean() || value.is_i64())
            .unwrap_or_else(|| Value::String(text.to_owned()));
        return;
    };
    if !json.is_object() {
        *json = Value::Object(Map::new());
    }
    if let Some(fields) = json.as_object_mut() {
        let known = fields.keys().find(|field| field.eq_ignore_ascii_case(name)).cloned();
        let field =
            fields.entry(known.unwrap_or_else(|| (*name).to_owned())).or_insert(Value::Null);
        override_value(field, rest, text);
    }
}

/// An app, and the executable that was built beside the running program.
#[derive(Debug, Clone)]
pub struct BuiltApp {
    /// The folder of `host.json`.
    pub root: PathBuf,
    /// The folder of the executable.
    pub folder: PathBuf,
    /// The environment variables of the handler.
    pub settings: Settings,
    /// The functions.
    pub functions: FunctionApp,
}

impl BuiltApp {
    /// Loads the app in `root` with the settings of its `local.settings.json.example`, on a store. Its
    /// handler logs warnings only. As everywhere, environment variables win over settings and
    /// `host.json`.
    pub fn load(root: &Path, connection: &str) -> anyhow::Result<Self> {
        let settings = Settings::read(&root.join("local.settings.json.example"))?;
        let mut settings = settings.overridden_by(env::vars());
        settings.set_connection("CosmosConnection", connection);
        settings.set("RUST_LOG", "warn");
        let functions = FunctionApp::load(root, &settings)?;
        let mut folder = env::current_exe()?;
        folder.pop();
        Ok(Self { root: root.to_owned(), folder, settings, functions })
    }

    /// Returns the options of a handler without a host.
    pub fn handler(&self) -> HandlerOptions {
        HandlerOptions {
            executable: self.executable(),
            arguments: Vec::new(),
            working_directory: self.root.clone(),
            settings: self.settings.clone(),
            launcher: None,
            start_timeout: Duration::from_secs(30),
        }
    }

    /// Returns the path of the handler's executable.
    pub fn executable(&self) -> PathBuf {
        self.folder
            .join(&self.functions.host().executable)
            .with_extension(env::consts::EXE_EXTENSION)
    }
}
