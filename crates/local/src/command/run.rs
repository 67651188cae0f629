//! The steps of `cargo local`.

use std::cell::OnceCell;
use std::io::{IsTerminal as _, Write as _};
use std::mem;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use futures::future::try_join_all;
use serde::Serialize;

use super::cli::StartOptions;
use super::data::DataFolder;
use super::launch::{CosmosAccount, Launch};
use super::project::Project;
use super::running_app::RunningApp;
use crate::chaos::Chaos;
use crate::client::Client;
use crate::demo::Demo;
use crate::host::{Console, Keys, TaskProgress};

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
