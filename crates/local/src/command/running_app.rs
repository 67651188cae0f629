//! An app that runs, and is updated after each change of its files.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, slice};

use anyhow::Context as _;
use notify::event::{AccessKind, AccessMode, MetadataKind, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

use super::launch::{AppFiles, Launch};
use super::overview::Overview;
use super::project::Project;
use crate::host::{HandlerError, Host};

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
