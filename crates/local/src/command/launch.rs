//! The app and its host: its files, its build, its stage and its start.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use std::{env, fs, iter};

use anyhow::Context as _;
use azure_data_cosmos_driver::models::ConnectionString;
use cargo_tributary::package::{AppLayout, function_folders};

use super::api_document::ApiDocument;
use super::cli::StartOptions;
use super::data::DataFolder;
use super::overview::Overview;
use super::project::{BuildMode, Built, Project};
use crate::chaos::Chaos;
use crate::cosmos::{self, ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer};
use crate::host::{
    self, Console, FeedStart, FunctionApp, FunctionTrigger, Host, HostOptions, Keys, Settings,
};

/// The setting with the database's name, and its default.
const DATABASE_SETTING: (&str, &str) = ("CosmosDatabase", "tributary");
/// The definition of the containers.
const CONTAINERS: &str = "infra/containers.json";
/// Where the system looks for dynamic libraries.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";
/// The connection that the handler reads; triggers may name others.
const CONNECTION_SETTING: &str = "CosmosConnection";

/// An app that is started on one store, after each change of its files.
pub(super) struct Launch {
    pub(super) root: PathBuf,
    pub(super) cli: StartOptions,
    pub(super) store: CosmosAccount,
    pub(super) keys: Option<Keys>,
    pub(super) chaos: Option<Chaos>,
    pub(super) console: Console,
}

/// The files of an app that the host reads.
#[derive(Debug, Clone)]
pub(super) struct AppFiles {
    app: FunctionApp,
    settings: Settings,
    texts: BTreeMap<PathBuf, Vec<u8>>,
}

impl AppFiles {
    /// Returns true if no file has changed since `earlier` was read.
    pub(super) fn are_those_of(&self, earlier: &Self) -> bool {
        self.texts == earlier.texts
    }
}

impl Launch {
    /// Reads the files of the host.
    pub(super) fn read(&self) -> anyhow::Result<AppFiles> {
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
    pub(super) async fn provision(&self) -> anyhow::Result<()> {
        if let Some((database, containers)) = self.containers()? {
            self.store.provision(&database, &containers).await?;
        }
        Ok(())
    }

    /// Opens the folder of `--data`, and fills the containers from it.
    pub(super) async fn open_data(&self) -> anyhow::Result<Option<DataFolder>> {
        let (Some(folder), Some((endpoint, _))) = (&self.cli.data, &self.store.own) else {
            return Ok(None);
        };
        let (database, containers) = self.containers()?.with_context(|| {
            format!("--data keeps the containers of {CONTAINERS}, which this app does not have")
        })?;
        let (containers, leases) = (containers.containers(), self.lease_containers()?);
        DataFolder::open(folder, endpoint, &database, containers, &leases).await.map(Some)
    }

    /// Returns the database and the containers of the app, if it defines any.
    fn containers(&self) -> anyhow::Result<Option<(String, ContainersFile)>> {
        let file = self.root.join(CONTAINERS);
        if !file.is_file() {
            return Ok(None);
        }
        let containers = ContainersFile::read(&file)?;
        let settings = read_settings(&self.root)?;
        let database = settings.get(DATABASE_SETTING.0).unwrap_or(DATABASE_SETTING.1);
        Ok(Some((database.to_owned(), containers)))
    }

    /// Returns the containers with the leases of triggers, and warns of triggers that do not start from the
    /// beginning.
    fn lease_containers(&self) -> anyhow::Result<BTreeSet<String>> {
        let AppFiles { app, .. } = self.read()?;
        let triggers = app.functions().iter().filter_map(|function| match &function.trigger {
            FunctionTrigger::Cosmos(trigger) => Some((&function.name, trigger)),
            _ => None,
        });
        let mut leases = BTreeSet::new();
        for (name, trigger) in triggers {
            leases.insert(trigger.lease_container.clone());
            if trigger.start != FeedStart::Beginning {
                self.console.warn(&format!(
                    "--data: {name} has no startFromBeginning, so it does not get what it had not handled at the last end"
                ));
            }
        }
        Ok(leases)
    }

    /// Returns the Cargo project of the app; `None` if there is nothing to build.
    pub(super) async fn project(&self) -> anyhow::Result<Option<Project>> {
        if !self.root.join("Cargo.toml").is_file() {
            return Ok(None);
        }
        Project::read(&self.root).await.map(Some)
    }

    /// Builds the handler.
    pub(super) async fn build(
        &self,
        files: &AppFiles,
        project: Option<&Project>,
    ) -> anyhow::Result<Built> {
        let executable = Path::new(&files.app.host().executable);
        let Some(project) = project else {
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
    pub(super) fn stage(
        &self,
        files: &AppFiles,
        project: Option<&Project>,
        built: &Built,
    ) -> anyhow::Result<PathBuf> {
        let Some(project) = project else {
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
            fs::copy(&settings, &to).with_context(|| format!("{}", settings.display()))?;
        }
        Ok(folder)
    }

    /// Returns an overview of an app that runs on a host.
    pub(super) async fn overview(&self, files: &AppFiles, host: &Host) -> Overview {
        let document = host.openapi().await.map(ApiDocument::new);
        Overview::new(files.app.clone(), host.url(), document)
    }

    /// Starts the host with the handler in a folder.
    pub(super) async fn start(
        &self,
        files: &AppFiles,
        folder: PathBuf,
        port: u16,
    ) -> anyhow::Result<Host> {
        let Self { cli, store, console, .. } = self;
        let AppFiles { app, mut settings, .. } = files.clone();
        for warning in app.warnings() {
            console.warn(warning);
        }
        warn_of_missing_settings(&app, &settings, console);
        if cli.watch {
            let others = env::var_os(LIBRARY_PATH).unwrap_or_default();
            let folders = iter::once(folder.clone()).chain(env::split_paths(&others));
            settings.set(LIBRARY_PATH, env::join_paths(folders)?.to_string_lossy());
        }
        settings.set_connection(CONNECTION_SETTING, &store.connection);
        for function in app.functions() {
            if let FunctionTrigger::Cosmos(trigger) = &function.trigger {
                settings.set_connection(&trigger.connection, &store.connection);
                settings.set_connection(&trigger.lease_connection, &store.connection);
            }
        }
        let options = HostOptions {
            port,
            keys: self.keys.clone(),
            poll_delay: cli.feed_poll_ms.map(Duration::from_millis),
            launcher: words(),
            console: console.clone(),
            chaos: self.chaos.clone(),
            ..HostOptions::new(folder)
        };
        Ok(Host::start(app, &settings, options).await?)
    }
}

/// Reads `local.settings.json`, or the example for it; the environment wins, as with Core Tools.
fn read_settings(root: &Path) -> anyhow::Result<Settings> {
    let settings = settings_file(root).map(|path| Settings::read(&path)).transpose()?;
    Ok(settings.unwrap_or_default().overridden_by(std::env::vars()))
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
    let http = |trigger: &FunctionTrigger| matches!(trigger, FunctionTrigger::Http(_));
    let storage = settings.iter().any(|(name, _)| name.starts_with("AzureWebJobsStorage"));
    if !storage && !app.functions().iter().all(|function| http(&function.trigger)) {
        console.warn("local.settings.json: AzureWebJobsStorage is missing: func start asks for it");
    }
}

/// The Cosmos DB account in use: an own endpoint, or that of `--cosmos`.
pub(super) struct CosmosAccount {
    pub(super) connection: String,
    url: String,
    /// It ends on drop.
    pub(super) own: Option<(CosmosEndpoint, RunningServer)>,
}

impl CosmosAccount {
    /// Starts an endpoint, or takes the account of `--cosmos`.
    pub(super) async fn start(cli: &StartOptions, chaos: Option<Chaos>) -> anyhow::Result<Self> {
        if let Some(connection) = &cli.cosmos {
            let parsed: ConnectionString = connection
                .parse()
                .ok()
                .context("--cosmos must be a connection string, AccountEndpoint=…;AccountKey=…")?;
            let url = parsed.account_endpoint().to_owned();
            return Ok(Self { connection: connection.clone(), url, own: None });
        }
        let partitions = cli.partitions;
        let charges = cli.charge;
        let options = EndpointOptions { partitions, charges, chaos, ..EndpointOptions::default() };
        let endpoint = CosmosEndpoint::in_process(options)?;
        let server = endpoint.serve(cli.cosmos_port).await?;
        Ok(Self {
            connection: server.connection_string(),
            url: server.url(),
            own: Some((endpoint, server)),
        })
    }

    /// Returns the address of the account.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Creates the containers that do not exist yet.
    async fn provision(&self, database: &str, containers: &ContainersFile) -> anyhow::Result<()> {
        if let Some((endpoint, _)) = &self.own {
            endpoint.provision(database, containers).await?;
        } else {
            let client = host::connect(&self.connection).await;
            let client = client.map_err(|fault| anyhow::anyhow!("--cosmos: {fault}"))?;
            cosmos::provision(&client, database, containers).await?;
        }
        Ok(())
    }
}

const BECOME_ARGUMENT: &str = "--become";

/// Returns the command that makes this binary the launcher of a program. A build may have replaced the
/// binary's file meanwhile, so the path is the system's link to the running program.
pub(crate) fn words() -> Option<Vec<PathBuf>> {
    cfg!(target_os = "linux").then(|| vec!["/proc/self/exe".into(), BECOME_ARGUMENT.into()])
}

/// Returns the program and its arguments if this process is a launcher.
pub(crate) fn requested() -> Option<Vec<OsString>> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == BECOME_ARGUMENT).then(|| words.collect())
}

/// Replaces this process by the program; returns only if that fails.
#[cfg(target_os = "linux")]
pub(crate) fn become_program(words: &[OsString]) -> ExitCode {
    use std::os::unix::process::CommandExt as _;

    let [program, arguments @ ..] = words else {
        return ExitCode::FAILURE;
    };
    let killed = rustix::process::Signal::KILL;
    let error = match rustix::process::set_parent_process_death_signal(Some(killed)) {
        Ok(()) => std::process::Command::new(program).args(arguments).exec(),
        Err(error) => error.into(),
    };
    anstream::eprintln!("{} cannot be started: {error}", program.display());
    ExitCode::FAILURE
}

/// Never called: only Linux has the launcher.
#[cfg(not(target_os = "linux"))]
pub(crate) fn become_program(_words: &[OsString]) -> ExitCode {
    ExitCode::FAILURE
}
