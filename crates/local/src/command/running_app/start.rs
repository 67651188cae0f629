//! From the options to Ctrl-C: an app is started, is ready, and is updated.

use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::slice;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures::future::try_join_all;
use serde_json::json;

use super::changes::Changes;
use super::{CosmosAccount, RunningApp, Updated};
use crate::chaos::Chaos;
use crate::client::Client;
use crate::command::{cli::StartOptions, project::Project};
use crate::demo::Demo;
use crate::host::{Console, Keys};

pub(in crate::command) async fn run(cli: StartOptions) -> anyhow::Result<()> {
    let console = if cli.verbose { Console::verbose() } else { Console::stderr() };
    let chaos = cli.chaos.clone().map(|spec| Chaos::new(spec, cli.seed));
    // A signal drops all that is under way, and the drop ends its processes.
    let ended = tokio::select! {
        ended = steps(cli, chaos.clone(), console.clone()) => ended,
        signal = asked_to_end() => signal.context("Ctrl-C cannot be waited for"),
    };
    if let Some(chaos) = chaos {
        console.plain(&chaos.summary());
    }
    ended
}

async fn steps(cli: StartOptions, chaos: Option<Chaos>, console: Console) -> anyhow::Result<()> {
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
    let app = RunningApp {
        root,
        project,
        cli,
        store,
        keys,
        chaos,
        console: console.clone(),
        host: None,
        running: None,
    };
    app.provision().await?;
    if let (Some(folder), Some((endpoint, _))) = (&app.cli.data, &app.store.own) {
        let n_items = endpoint.n_items();
        console.info(&format!("Data: {n_items} items in {}", folder.display()));
        if n_items > 0 && !demos.is_empty() {
            console.info("The demo is not loaded: the folder has data");
            demos.clear();
        }
    }
    serve(app, &demos).await
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

impl RunningApp {
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
    let total: usize = demos.iter().map(|demo| demo.requests.len()).sum();
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
