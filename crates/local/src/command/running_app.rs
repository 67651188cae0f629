//! An app that runs, and is updated after each change of its files.

mod changes;
mod start;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, fs, iter};

use anyhow::Context as _;
use azure_data_cosmos_driver::models::ConnectionString;
use cargo_tributary::package::{AppLayout, function_folders};

pub(super) use start::run;

use super::api_document::ApiDocument;
use super::cli::{DEFAULT_PORT, StartOptions};
use super::launcher;
use super::overview::Overview;
use super::project::{BuildMode, Built, Project};
use crate::chaos::Chaos;
use crate::cosmos::{self, ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer};
use crate::host::{
    self, Console, Function, FunctionApp, HandlerError, Host, HostOptions, Keys, Settings,
};

/// The setting with the database's name, and its default.
const DATABASE_SETTING: (&str, &str) = ("CosmosDatabase", "tributary");
const CONTAINERS: &str = "infra/containers.json";
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// The connection that the handler reads; triggers may name others.
const CONNECTION_SETTING: &str = "CosmosConnection";

/// An app on its host, or before its first start.
struct RunningApp {
    root: PathBuf,
    project: Option<Project>,
    cli: StartOptions,
    store: CosmosAccount,
    keys: Option<Keys>,
    chaos: Option<Chaos>,
    console: Console,
    host: Option<Host>,
    /// The files that the host has read, and the time of the build of the handler.
    running: Option<(AppFiles, Option<SystemTime>)>,
}

struct AppFiles {
    app: FunctionApp,
    settings: Settings,
    texts: BTreeMap<PathBuf, Vec<u8>>,
}

enum Updated {
    Nothing,
    Handler,
    Host(Box<Overview>),
}

impl RunningApp {
    fn read(&self) -> anyhow::Result<AppFiles> {
        let settings = read_settings(&self.root)?;
        let app = FunctionApp::load(&self.root, &settings)?;
        let functions = function_folders(&self.root)?.into_values();
        let files = functions
            .map(|folder| folder.join("function.json"))
            .chain([self.root.join("host.json"), self.root.join(CONTAINERS)])
            .chain(settings_file(&self.root));
        let texts = files.filter_map(|file| Some((file.clone(), fs::read(file).ok()?))).collect();
        Ok(AppFiles { app, settings, texts })
    }

    /// Creates the containers of the app that do not exist yet.
    async fn provision(&self) -> anyhow::Result<()> {
        let file = self.root.join(CONTAINERS);
        if !file.is_file() {
            return Ok(());
        }
        let containers = ContainersFile::read(&file)?;
        let settings = read_settings(&self.root)?;
        let database = settings.get(DATABASE_SETTING.0).unwrap_or(DATABASE_SETTING.1);
        if let Some((endpoint, _)) = &self.store.own {
            return endpoint.provision(database, &containers).await;
        }
        let client = host::connect(&self.store.connection).await;
        let client = client.map_err(|fault| anyhow::anyhow!("--cosmos: {fault}"))?;
        cosmos::provision(&client, database, &containers).await
    }

    async fn build(&self, files: &AppFiles) -> anyhow::Result<Built> {
        let executable = Path::new(&files.app.host().executable);
        let Some(project) = &self.project else {
            return Ok(Built { executable: self.root.join(executable), ..Built::default() });
        };
        let name = executable.file_stem().unwrap_or_default().to_string_lossy();
        let mode = match self.cli {
            StartOptions { release: true, .. } => BuildMode::Release,
            // Cargo lets the programs that it starts find the standard library. Other systems were not tried.
            StartOptions { watch: true, .. }
                if cfg!(target_os = "linux") && env::var_os("CARGO").is_some() =>
            {
                BuildMode::Watched
            }
            _ => BuildMode::Dev,
        };
        project.build(&name, mode).await
    }

    /// Puts the executable, its libraries and the files of the host into the folder to run, and returns the folder:
    /// the app's own if there is nothing to build.
    fn stage(&self, files: &AppFiles, built: &Built) -> anyhow::Result<PathBuf> {
        let Some(project) = &self.project else {
            return Ok(self.root.clone());
        };
        let folder = project.target.join("functionapp-local");
        // A setting may have overridden the value of the file.
        let executable = files.app.host().executable.clone();
        let layout = AppLayout { executable, ..AppLayout::read(&self.root)? };
        cargo_tributary::package::stage(&layout, &built.executable, &folder)?;
        for library in &built.libraries {
            let name = library.file_name().context("a library has a name")?;
            cargo_tributary::package::link(library, &folder.join(name))?;
        }
        // `func start --script-root` reads its settings there.
        if let Some(settings) = settings_file(&self.root) {
            let to = folder.join("local.settings.json");
            fs::copy(&settings, &to).with_context(|| settings.display().to_string())?;
        }
        Ok(folder)
    }

    async fn start(&self, files: &AppFiles, folder: PathBuf) -> anyhow::Result<Host> {
        let Self { cli, store, console, .. } = self;
        let AppFiles { app, settings, .. } = files;
        let mut settings = settings.clone();
        let warnings = app.warnings().iter().chain(&settings.local.warnings);
        warnings.for_each(|warning| console.warn(warning));
        warn_of_missing_settings(app, &settings, console);
        if cli.watch {
            let others = env::var_os(LIBRARY_PATH).unwrap_or_default();
            let folders = iter::once(folder.clone()).chain(env::split_paths(&others));
            settings.set(LIBRARY_PATH, env::join_paths(folders)?.to_string_lossy());
        }
        settings.set_connection(CONNECTION_SETTING, &store.connection);
        for trigger in app.functions().iter().filter_map(Function::cosmos) {
            settings.set_connection(&trigger.connection, &store.connection);
        }
        let options = HostOptions {
            port: cli.port.or(settings.local.port).unwrap_or(DEFAULT_PORT),
            keys: self.keys.clone(),
            allowed_hosts: cli.allowed_hosts.clone(),
            poll_delay: cli.feed_poll_ms.map(Duration::from_millis),
            launcher: launcher::words(),
            console: console.clone(),
            chaos: self.chaos.clone(),
            ..HostOptions::new(folder)
        };
        Host::start(app.clone(), &settings, options).await
    }

    /// Updates the app after a change of its files. A new executable replaces the old one in the running host,
    /// which restarts if a file of its own has changed. The store stays. After an error, the app keeps running
    /// unless the host had to restart.
    async fn update(&mut self) -> anyhow::Result<Updated> {
        let files = self.read()?;
        let built = self.build(&files).await?;
        let built_at = fs::metadata(&built.executable).and_then(|file| file.modified()).ok();
        let running = self.running.as_ref().filter(|(earlier, _)| files.texts == earlier.texts);
        let is_built = running.is_some_and(|(_, earlier)| built_at == *earlier);
        let is_same = running.is_some();
        if self.host.is_some() && is_built {
            return Ok(Updated::Nothing);
        }
        let folder = self.stage(&files, &built)?;
        let updated = match &self.host {
            Some(host) if is_same => {
                host.replace_handlers().await?;
                Updated::Handler
            }
            _ => {
                self.stop().await;
                self.provision().await?;
                let host = self.start(&files, folder).await?;
                // Each later host takes the port of this one.
                self.cli.port = self.cli.port.map(|_| host.port());
                let document = host.openapi().await.map(ApiDocument);
                let (app, url) = (files.app.clone(), host.url().to_owned());
                let overview = Overview { app, url, document };
                overview.print_functions(self.keys.as_ref(), &self.console);
                self.host = Some(host);
                Updated::Host(Box::new(overview))
            }
        };
        self.running = Some((files, built_at));
        Ok(updated)
    }

    /// Waits until a handler has failed for good. An app that does not run waits without end.
    async fn failed(&self) -> HandlerError {
        match &self.host {
            Some(host) => host.failed().await,
            None => std::future::pending().await,
        }
    }

    async fn stop(&mut self) {
        if let Some(host) = self.host.take() {
            host.stop().await;
        }
    }
}

/// Reads `local.settings.json`, or the example for it; the environment wins, as with Core Tools.
fn read_settings(root: &Path) -> anyhow::Result<Settings> {
    let settings = settings_file(root).map(|path| Settings::read(&path)).transpose()?;
    Ok(settings.unwrap_or_default().overridden_by(env::vars()))
}

fn settings_file(root: &Path) -> Option<PathBuf> {
    let files = ["local.settings.json", "local.settings.json.example"];
    files.iter().map(|file| root.join(file)).find(|path| path.is_file())
}

/// Warns of settings without which Core Tools refuses to start.
fn warn_of_missing_settings(app: &FunctionApp, settings: &Settings, console: &Console) {
    if settings.get("FUNCTIONS_WORKER_RUNTIME") != Some("custom") {
        console.warn(
            "local.settings.json: FUNCTIONS_WORKER_RUNTIME must be \"custom\" for func start",
        );
    }
    let has_storage = settings.iter().any(|(name, _)| name.starts_with("AzureWebJobsStorage"));
    if !has_storage && app.functions().iter().any(|function| function.http().is_none()) {
        console.warn("local.settings.json: AzureWebJobsStorage is missing: func start asks for it");
    }
}

/// The Cosmos DB account in use: an own endpoint, or that of `--cosmos`.
struct CosmosAccount {
    connection: String,
    url: String,
    /// It ends on drop.
    own: Option<(CosmosEndpoint, RunningServer)>,
}

impl CosmosAccount {
    async fn start(cli: &StartOptions, chaos: Option<Chaos>) -> anyhow::Result<Self> {
        if let Some(connection) = &cli.cosmos {
            let parsed: Option<ConnectionString> = connection.parse().ok();
            let parsed = parsed
                .context("--cosmos must be a connection string, AccountEndpoint=…;AccountKey=…")?;
            let url = parsed.account_endpoint().to_owned();
            return Ok(Self { connection: connection.clone(), url, own: None });
        }
        let options = EndpointOptions {
            partitions: cli.partitions,
            data: cli.data.clone(),
            allowed_hosts: cli.allowed_hosts.clone(),
            chaos,
            ..EndpointOptions::default()
        };
        let endpoint = CosmosEndpoint::new(options)?;
        let server = endpoint.serve(cli.cosmos_port).await?;
        let (connection, url) = (server.connection_string(), server.url());
        Ok(Self { connection, url, own: Some((endpoint, server)) })
    }
}
