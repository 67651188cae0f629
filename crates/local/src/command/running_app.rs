//! An app that runs, and is updated after each change of its files.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, iter, slice};

use anyhow::{Context as _, bail};
use azure_data_cosmos_driver::models::ConnectionString;
use cargo_tributary::package::{AppLayout, function_folders};
use futures::future::try_join_all;
use notify::event::{AccessKind, AccessMode, MetadataKind, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use serde_json::json;
use tokio::sync::mpsc;

use super::api_document::ApiDocument;
use super::cli::StartOptions;
use super::data::DataFolder;
use super::launcher;
use super::overview::Overview;
use super::project::{BuildMode, Built, Project};
use crate::chaos::Chaos;
use crate::client::Client;
use crate::cosmos::{self, ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer};
use crate::demo::Demo;
use crate::host::{
    self, Console, FeedStart, Function, FunctionApp, HandlerError, Host, HostOptions, Keys,
    Settings,
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
    /// The port of the first host, which each later one takes.
    port: u16,
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

    /// Creates the containers of the app that do not exist yet.
    async fn provision(&self) -> anyhow::Result<()> {
        let Some((database, containers)) = self.containers()? else { return Ok(()) };
        if let Some((endpoint, _)) = &self.store.own {
            endpoint.provision(&database, &containers).await?;
        } else {
            let client = host::connect(&self.store.connection).await;
            let client = client.map_err(|fault| anyhow::anyhow!("--cosmos: {fault}"))?;
            cosmos::provision(&client, &database, &containers).await?;
        }
        Ok(())
    }

    /// Opens the folder of `--data`, fills the containers from it, and warns of triggers that do not start from
    /// the beginning.
    async fn open_data(&self) -> anyhow::Result<Option<DataFolder>> {
        let (Some(folder), Some((endpoint, _))) = (&self.cli.data, &self.store.own) else {
            return Ok(None);
        };
        let (database, containers) = self.containers()?.with_context(|| {
            format!("--data keeps the containers of {CONTAINERS}, which this app does not have")
        })?;
        let AppFiles { app, .. } = self.read()?;
        let mut leases = BTreeSet::new();
        for function in app.functions() {
            let Some(trigger) = function.cosmos() else { continue };
            leases.insert(trigger.lease_container.clone());
            if trigger.start != FeedStart::Beginning {
                self.console.warn(&format!(
                    "--data: {} has no startFromBeginning, so it does not get what it had not handled at the last end",
                    function.name
                ));
            }
        }
        DataFolder::open(folder, endpoint, &database, containers.containers(), &leases)
            .await
            .map(Some)
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
        app.warnings().iter().for_each(|warning| console.warn(warning));
        warn_of_missing_settings(app, &settings, console);
        if cli.watch {
            let others = env::var_os(LIBRARY_PATH).unwrap_or_default();
            let folders = iter::once(folder.clone()).chain(env::split_paths(&others));
            settings.set(LIBRARY_PATH, env::join_paths(folders)?.to_string_lossy());
        }
        settings.set_connection(CONNECTION_SETTING, &store.connection);
        for trigger in app.functions().iter().filter_map(Function::cosmos) {
            settings.set_connection(&trigger.connection, &store.connection);
            settings.set_connection(&trigger.lease_connection, &store.connection);
        }
        let options = HostOptions {
            port: self.port,
            keys: self.keys.clone(),
            poll_delay: cli.feed_poll_ms.map(Duration::from_millis),
            launcher: launcher::words(),
            console: console.clone(),
            chaos: self.chaos.clone(),
            ..HostOptions::new(folder)
        };
        Host::start(app.clone(), &settings, options).await
    }

    /// Updates the app after a change of its files.
    ///
    /// Cargo decides whether there is a new executable. It replaces the old one in the running host,
    /// which finishes the requests in flight. The host restarts if a file of its own has changed. The
    /// store stays in either case. After an error, the app keeps running unless the host had to
    /// restart.
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
                self.port = host.port();
                let document = host.openapi().await.map(ApiDocument::new);
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

    /// Reports that the app is ready; after the first start, given the data sets, loads them and opens the
    /// browser.
    async fn is_up(&self, updated: &Updated, demos: Option<&[Demo]>) -> anyhow::Result<()> {
        let Some(host) = &self.host else { return Ok(()) };
        let console = &self.console;
        if let Some(demos @ [_, ..]) = demos {
            console.hush(true);
            load(demos, host.url(), self.keys.as_ref(), console).await?;
            console.hush(false);
        }
        if let Updated::Host(overview) = updated {
            overview.print_ready(demos.unwrap_or_default(), console);
            if self.cli.open
                && demos.is_some()
                && let Err(error) = open::that_detached(format!("{}/", host.url()))
            {
                console.warn(&format!("--open: no browser can be started: {error}"));
            }
        }
        ready(Some(format!("{}/api", host.url())), &self.store.url)
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
        let (partitions, charges) = (cli.partitions, cli.charge);
        let options = EndpointOptions { partitions, charges, chaos, ..EndpointOptions::default() };
        let endpoint = CosmosEndpoint::in_process(options)?;
        let server = endpoint.serve(cli.cosmos_port).await?;
        let (connection, url) = (server.connection_string(), server.url());
        Ok(Self { connection, url, own: Some((endpoint, server)) })
    }
}

/// The time without a change before a build begins: an editor writes several files.
const QUIET_TIME: Duration = Duration::from_millis(50);

struct Changes {
    changed: mpsc::Receiver<()>,
    _watcher: RecommendedWatcher,
}

impl Changes {
    /// Begins to watch folders, without Cargo's target directory.
    fn begin(folders: &[PathBuf], target: Option<&Path>) -> anyhow::Result<Self> {
        let (sender, changed) = mpsc::channel(1);
        let built = target.map(Path::to_owned);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let is_source =
                |path: &PathBuf| built.as_ref().is_none_or(|built| !path.starts_with(built));
            if event.is_ok_and(|event| is_change(event.kind) && event.paths.iter().any(is_source)) {
                // One waiting change is enough.
                let _ = sender.try_send(());
            }
        })
        .context("files cannot be watched")?;
        for folder in folders {
            let unwatched = || format!("{} cannot be watched", folder.display());
            watcher.watch(folder, RecursiveMode::NonRecursive).with_context(unwatched)?;
            for inner in fs::read_dir(folder).with_context(unwatched)? {
                let inner = inner.with_context(unwatched)?.path();
                if inner.is_dir() && Some(inner.as_path()) != target && !is_hidden(&inner) {
                    watcher.watch(&inner, RecursiveMode::Recursive).with_context(unwatched)?;
                }
            }
        }
        Ok(Self { changed, _watcher: watcher })
    }

    /// Waits for a change, and returns its time after a moment without another change.
    async fn next(&mut self) -> anyhow::Result<Instant> {
        self.changed.recv().await.context("files are not watched any more")?;
        let first = Instant::now();
        while let Ok(Some(())) = tokio::time::timeout(QUIET_TIME, self.changed.recv()).await {}
        Ok(first)
    }
}

/// Returns true if the content or the name of a file has changed.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Modify(ModifyKind::Metadata(metadata)) => metadata == MetadataKind::WriteTime,
        EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) => true,
        EventKind::Any | EventKind::Other => false,
    }
}

/// Returns true for folders of tools, such as `.git` and `node_modules`.
fn is_hidden(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.') || name == "node_modules" || name == "target"
}

pub(super) async fn run(cli: StartOptions) -> anyhow::Result<()> {
    let console = if cli.verbose { Console::verbose() } else { Console::stderr() };
    let chaos = cli.chaos.clone().map(|spec| Chaos::new(spec, cli.seed));
    let data = OnceCell::new();
    // A signal drops all that is under way, and the drop ends its processes.
    let ended = tokio::select! {
        ended = steps(cli, chaos.clone(), console.clone(), &data) => ended,
        signal = asked_to_end() => signal.context("Ctrl-C cannot be waited for"),
    };
    if let Some(chaos) = chaos {
        console.plain(&chaos.summary());
    }
    if let Some(data) = data.get() {
        data.save().await.context("The data is not saved")?;
    }
    ended
}

async fn steps(
    cli: StartOptions,
    chaos: Option<Chaos>,
    console: Console,
    data: &OnceCell<DataFolder>,
) -> anyhow::Result<()> {
    let (root, project) = match &cli.app {
        None => {
            let project = Project::read(Path::new(".")).await?;
            (project.root.clone(), Some(project))
        }
        Some(app) => {
            let root = app.canonicalize().with_context(|| format!("--app {}", app.display()))?;
            let is_project = root.join("Cargo.toml").is_file();
            let project = if is_project { Some(Project::read(&root).await?) } else { None };
            (root, project)
        }
    };
    // A faulty data set is an error before anything is built.
    let demos = cli.demo.as_deref().map(|domains| Demo::read_all(&root, domains)).transpose()?;
    let mut demos = demos.unwrap_or_default();
    let store = CosmosAccount::start(&cli, chaos.clone()).await?;
    console.info(&format!("Cosmos DB endpoint: {}", store.url));
    let keys = cli.enable_auth.then(Keys::generate);
    let port = cli.port;
    let console = &console;
    let app = RunningApp {
        root,
        project,
        cli,
        store,
        keys,
        chaos,
        console: console.clone(),
        host: None,
        port,
        running: None,
    };
    app.provision().await?;
    let Some(opened) = app.open_data().await? else { return serve(app, &demos).await };
    let data = data.get_or_init(|| opened);
    let folder = app.cli.data.as_deref().unwrap_or(Path::new(""));
    console.info(&format!("Data: {} items in {}", data.n_loaded, folder.display()));
    if data.n_loaded > 0 && !demos.is_empty() {
        console.info("The demo is not loaded: the folder has data");
        demos.clear();
    }
    tokio::select! {
        ended = serve(app, &demos) => ended,
        never = data.keep_saving(console) => never,
    }
}

async fn serve(mut app: RunningApp, demos: &[Demo]) -> anyhow::Result<()> {
    if app.cli.cosmos_only {
        return cosmos_only(&app).await;
    }
    if app.cli.watch {
        return watched(app, demos).await;
    }
    let updated = app.update().await?;
    app.is_up(&updated, Some(demos)).await?;
    let failure = app.failed().await;
    app.stop().await;
    bail!(failure);
}

async fn cosmos_only(app: &RunningApp) -> anyhow::Result<()> {
    let RunningApp { store, console, .. } = app;
    if store.own.is_none() {
        return ready(None, &store.url);
    }
    console.info(&format!("In another terminal: cargo local --cosmos '{}'", store.connection));
    console.highlight(&format!("Ready:  {}", store.url));
    ready(None, &store.url)?;
    std::future::pending().await
}

/// Updates the app after each change of its files. Ends only with an error of the watcher.
async fn watched(mut app: RunningApp, demos: &[Demo]) -> anyhow::Result<()> {
    let mut changes = match &app.project {
        Some(project) => Changes::begin(&project.packages, Some(&project.target))?,
        None => Changes::begin(slice::from_ref(&app.root), None)?,
    };
    let mut changed: Option<Instant> = None;
    // Data sets are loaded once, by the first start that succeeds.
    let mut to_load = Some(demos);
    loop {
        match app.update().await {
            Ok(Updated::Nothing) => {}
            Ok(updated) => {
                if let Some(changed) = changed {
                    let seconds = changed.elapsed().as_secs_f32();
                    app.console.success(&format!("Ready {seconds:.1} s after the change"));
                }
                app.is_up(&updated, to_load.take()).await?;
            }
            Err(error) => app.console.error(&format!("{error:#}")),
        }
        changed = tokio::select! {
            next = changes.next() => Some(next?),
            failure = app.failed() => {
                app.console.error(&format!("{failure}. The app starts again after the next change"));
                app.stop().await;
                Some(changes.next().await?)
            }
        };
    }
}

const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

async fn load(
    demos: &[Demo],
    url: &str,
    keys: Option<&Keys>,
    console: &Console,
) -> anyhow::Result<()> {
    let client = Client::new(url)?.with_key(keys.map(|keys| keys.function.clone()));
    for demo in demos {
        console.info(&format!("Demo of {}: {}", demo.domain, demo.about));
    }
    let total: usize = demos.iter().map(Demo::n_requests).sum();
    let n_sent = Cell::new(0);
    let said_at = Cell::new(Instant::now());
    let sent = || {
        n_sent.update(|n| n + 1);
        if said_at.get().elapsed() >= PROGRESS_INTERVAL {
            said_at.set(Instant::now());
            console.info(&format!("Demo: {} of {total}", n_sent.get()));
        }
    };
    try_join_all(demos.iter().map(|demo| demo.send(&client, sent))).await?;
    console.info("Demo: requests sent; waiting for the change feed to copy");
    try_join_all(demos.iter().map(|demo| demo.wait(&client))).await?;
    Ok(())
}

/// Prints a line on stdout each time that everything is ready, for programs: a person at a terminal has read it
/// on stderr.
fn ready(api: Option<String>, cosmos: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        return Ok(());
    }
    let mut line = json!({ "event": "ready", "cosmos": cosmos });
    if let Some(api) = api {
        line["api"] = api.into();
    }
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("stdout is closed")
}

/// Waits for Ctrl-C, or for another signal that asks a program to end.
#[cfg(unix)]
async fn asked_to_end() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        ended = tokio::signal::ctrl_c() => ended,
        _ = terminate.recv() => Ok(()),
        _ = hangup.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn asked_to_end() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
