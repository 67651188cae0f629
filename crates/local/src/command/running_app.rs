//! An app that runs, and is updated after each change of its files.

use std::cell::OnceCell;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, mem, slice};

use anyhow::{Context as _, bail};
use futures::future::try_join_all;
use notify::event::{AccessKind, AccessMode, MetadataKind, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use serde::Serialize;
use tokio::sync::mpsc;

use super::cli::StartOptions;
use super::data::DataFolder;
use super::launch::{AppFiles, CosmosAccount, Launch};
use super::overview::Overview;
use super::project::Project;
use crate::chaos::Chaos;
use crate::client::Client;
use crate::demo::Demo;
use crate::host::{Console, HandlerError, Host, Keys, TaskProgress};

/// An app on its host, or before its first start.
pub(super) struct RunningApp {
    pub(super) launch: Launch,
    /// The Cargo project of the app; `None` if there is nothing to build.
    project: Option<Project>,
    host: Option<Host>,
    /// The functions when the host started.
    pub(super) overview: Option<Overview>,
    /// True after the first start that has succeeded.
    pub(super) has_been_ready: bool,
    /// The port of the first host, which each later one takes.
    port: u16,
    /// The files that the host has read.
    files: Option<AppFiles>,
    /// The time of the build of the handler's executable.
    built_at: Option<SystemTime>,
}

impl RunningApp {
    /// Creates the app, before its first start.
    pub(super) async fn new(launch: Launch) -> anyhow::Result<Self> {
        let project = launch.project().await?;
        let port = launch.cli.port;
        Ok(Self {
            launch,
            project,
            host: None,
            overview: None,
            has_been_ready: false,
            port,
            files: None,
            built_at: None,
        })
    }

    /// Watches the files of the app.
    pub(super) fn changes(&self) -> anyhow::Result<Changes> {
        match &self.project {
            Some(project) => Changes::begin(&project.packages, Some(&project.target)),
            None => Changes::begin(slice::from_ref(&self.launch.root), None),
        }
    }

    /// Updates the app after a change of its files. Returns false if no running part has changed.
    ///
    /// Cargo decides whether there is a new executable. It replaces the old one in the running host,
    /// which finishes the requests in flight. The host restarts if a file of its own has changed. The
    /// store stays in either case. After an error, the app keeps running unless the host had to
    /// restart.
    pub(super) async fn update(&mut self) -> anyhow::Result<bool> {
        let files = self.launch.read()?;
        let built = self.launch.build(&files, self.project.as_ref()).await?;
        let built_at = fs::metadata(&built.executable).and_then(|file| file.modified()).ok();
        let is_same = self.files.as_ref().is_some_and(|earlier| files.are_those_of(earlier));
        if self.host.is_some() && is_same && built_at == self.built_at {
            return Ok(false);
        }
        let folder = self.launch.stage(&files, self.project.as_ref(), &built)?;
        match &self.host {
            Some(host) if is_same => host.replace_handlers().await?,
            _ => {
                self.stop().await;
                self.launch.provision().await?;
                let host = self.launch.start(&files, folder, self.port).await?;
                self.port = host.port();
                let overview = self.launch.overview(&files, &host).await;
                overview.print_functions(self.launch.keys.as_ref(), &self.launch.console);
                self.overview = Some(overview);
                self.host = Some(host);
            }
        }
        self.files = Some(files);
        self.built_at = built_at;
        Ok(true)
    }

    /// Returns the address of the HTTP functions.
    pub(super) fn url(&self) -> &str {
        self.host.as_ref().map_or("", Host::url)
    }

    /// Waits until a handler has failed for good. An app that does not run waits without end.
    pub(super) async fn failed(&self) -> HandlerError {
        match &self.host {
            Some(host) => host.failed().await,
            None => std::future::pending().await,
        }
    }

    /// Ends the host and its handlers. The next update starts them again.
    pub(super) async fn stop(&mut self) {
        if let Some(host) = self.host.take() {
            host.stop().await;
        }
    }
}

/// The time without a change before a build begins: an editor writes several files.
const QUIET_TIME: Duration = Duration::from_millis(50);

/// A stream of the changes of an app's files.
pub(super) struct Changes {
    changed: mpsc::Receiver<()>,
    /// It watches until it is dropped.
    _watcher: RecommendedWatcher,
}

impl Changes {
    /// Begins to watch folders, without Cargo's target directory.
    pub(super) fn begin(folders: &[PathBuf], target: Option<&Path>) -> anyhow::Result<Self> {
        let (sender, changed) = mpsc::channel(1);
        let built = target.map(Path::to_owned);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let is_built =
                |path: &Path| built.as_ref().is_some_and(|built| path.starts_with(built));
            let is_source = |path: &PathBuf| !is_built(path);
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

    /// Waits for a change, and returns its time after a moment without another change. An error says
    /// that files are not watched any more.
    pub(super) async fn next(&mut self) -> anyhow::Result<Instant> {
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

/// Runs the app until a signal ends it.
pub(crate) async fn run(cli: StartOptions) -> anyhow::Result<()> {
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
    let root = match &cli.app {
        Some(root) => root.canonicalize().with_context(|| format!("--app {}", root.display()))?,
        None => Project::find_root().await?,
    };
    // A faulty data set is an error before anything is built.
    let demos = cli.demo.as_deref().map(|domains| Demo::read_all(&root, domains)).transpose()?;
    let mut demos = demos.unwrap_or_default();
    let store = CosmosAccount::start(&cli, chaos.clone()).await?;
    console.info(&format!("Cosmos DB endpoint: {}", store.url()));
    let keys = cli.enable_auth.then(Keys::generate);
    let launch = Launch { root, cli, store, keys, chaos, console };
    let console = launch.console.clone();
    launch.provision().await?;
    let data = launch.open_data().await?.map(|opened| data.get_or_init(|| opened));
    let Some(data) = data else { return serve(launch, &demos).await };
    let folder = launch.cli.data.as_deref().unwrap_or(Path::new(""));
    console.info(&format!("Data: {} items in {}", data.n_loaded, folder.display()));
    if data.n_loaded > 0 && !demos.is_empty() {
        console.info("The demo is not loaded: the folder has data");
        demos.clear();
    }
    tokio::select! {
        ended = serve(launch, &demos) => ended,
        never = data.keep_saving(&console) => never,
    }
}

/// Runs the app on a store with its containers.
async fn serve(launch: Launch, demos: &[Demo]) -> anyhow::Result<()> {
    if launch.cli.cosmos_only {
        return cosmos_only(&launch).await;
    }
    let mut app = RunningApp::new(launch).await?;
    if app.launch.cli.watch {
        return watched(app, demos).await;
    }
    app.update().await?;
    is_up(&app, demos).await?;
    let failure = app.failed().await;
    app.stop().await;
    bail!(failure);
}

async fn cosmos_only(launch: &Launch) -> anyhow::Result<()> {
    let Launch { store, console, .. } = launch;
    let is_own = store.own.is_some();
    if is_own {
        console.info(&format!("In another terminal: cargo local --cosmos '{}'", store.connection));
        console.highlight(&format!("Ready:  {}", store.url()));
    }
    ready(None, store.url())?;
    if is_own { std::future::pending().await } else { Ok(()) }
}

/// Updates the app after each change of its files. Ends only with an error of the watcher.
async fn watched(mut app: RunningApp, demos: &[Demo]) -> anyhow::Result<()> {
    let mut changes = app.changes()?;
    let mut changed: Option<Instant> = None;
    // Data sets are loaded once, by the first start that succeeds.
    let mut to_load = demos;
    loop {
        match app.update().await {
            Ok(true) => {
                if let Some(changed) = changed {
                    let seconds = changed.elapsed().as_secs_f32();
                    let text = format!("Ready {seconds:.1} s after the change");
                    app.launch.console.success(&text);
                }
                is_up(&app, mem::take(&mut to_load)).await?;
                app.overview = None;
                app.has_been_ready = true;
            }
            Ok(false) => {}
            Err(error) => app.launch.console.error(&format!("{error:#}")),
        }
        changed = tokio::select! {
            next = changes.next() => Some(next?),
            failure = app.failed() => {
                let advice = "The app starts again after the next change";
                app.launch.console.error(&format!("{failure}. {advice}"));
                app.stop().await;
                Some(changes.next().await?)
            }
        };
    }
}

/// Loads data sets, and reports that the app is ready.
async fn is_up(app: &RunningApp, demos: &[Demo]) -> anyhow::Result<()> {
    let Launch { store, keys, console, .. } = &app.launch;
    let url = app.url();
    if !demos.is_empty() {
        console.hush(true);
        load(demos, url, keys.as_ref(), console).await?;
        console.hush(false);
    }
    if let Some(overview) = &app.overview {
        overview.print_ready(demos, console);
        if app.launch.cli.open
            && !app.has_been_ready
            && let Err(error) = open::that_detached(overview.page_url())
        {
            console.warn(&format!("--open: no browser can be started: {error}"));
        }
    }
    ready(Some(format!("{url}/api")), store.url())
}

/// Loads data sets, all at a time, and waits until the app shows them.
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
    let n_requests = demos.iter().map(Demo::n_requests).sum();
    let progress = TaskProgress::begin(console.clone(), "Demo", n_requests);
    try_join_all(demos.iter().map(|demo| demo.send(&client, || progress.advance()))).await?;
    progress.say("requests sent; waiting for the change feed to copy");
    try_join_all(demos.iter().map(|demo| demo.wait(&client))).await?;
    Ok(())
}

/// The line on stdout, one for each time that everything is ready.
#[derive(Serialize)]
struct Ready<'a> {
    event: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<String>,
    cosmos: &'a str,
}

/// Prints the line on stdout, for programs: a person at a terminal has read it on stderr.
fn ready(api: Option<String>, cosmos: &str) -> anyhow::Result<()> {
    if std::io::stdout().is_terminal() {
        return Ok(());
    }
    let line = serde_json::to_string(&Ready { event: "ready", api, cosmos })?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("stdout is closed")
}

/// Waits for Ctrl-C, or for another signal that asks a program to end.
#[cfg(unix)]
pub(crate) async fn asked_to_end() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        ended = tokio::signal::ctrl_c() => ended,
        _ = terminate.recv() => Ok(()),
        _ = hangup.recv() => Ok(()),
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub(crate) async fn asked_to_end() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
