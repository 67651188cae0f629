//! One rename, from the sign-up to the comparison.

use std::{
    fmt,
    future::pending,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use azure_data_cosmos::DatabaseClient;
use http::Method;
use serde_json::json;
use tokio::time::sleep;
use tributary_local::{
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RequestKind, RunningServer},
    host::{BuiltApp, Console, FunctionApp, Host, HostOptions},
};
use tributary_simulator::{Api as _, Call};

use super::{
    Cli,
    author::{self, AFTER, ANN, BEFORE, BOB},
    memory::Peak,
};
use crate::handler::{self, HttpApi};

const DATABASE: &str = "tributary";

/// The other functions that read a change feed.
const OTHERS: [&str; 3] = ["PostCopiesInUsers", "HomeFeed", "PostsIntegrity"];

/// When the app has had nothing to do for so long, it has nothing more to do.
const QUIET: Duration = Duration::from_secs(2);

/// When nothing has got on for so long, it never will.
pub(super) const STUCK: Duration = Duration::from_mins(2);

/// Replacements for each item must be fewer than this.
const MOST_WRITES: f64 = 1.05;

/// What came of a rename.
pub(super) struct Outcome {
    items: usize,
    kills: usize,
    replacements: usize,
    duration: Duration,
    /// In KiB, the most of all handlers.
    peak_memory: Option<u64>,
    divergences: Vec<String>,
}

/// The store, the host and the handler of a run.
pub(super) struct Stage {
    pub(super) endpoint: CosmosEndpoint,
    pub(super) database: DatabaseClient,
    pub(super) host: Host,
    pub(super) api: HttpApi,
    pub(super) executable: PathBuf,
    _server: RunningServer,
}

impl Stage {
    /// Starts the store, writes items to it, and starts the host then: its first batches are full,
    /// and there are few of them.
    pub(super) async fn start(
        cli: &Cli,
        write: impl AsyncFnOnce(&DatabaseClient) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        ensure!(cli.items >= 10, "--items must be at least 10");
        let endpoint = CosmosEndpoint::in_process(EndpointOptions {
            partitions: 2,
            keep_requests: true,
            ..EndpointOptions::default()
        })?;
        let server = endpoint.serve(0).await?;
        let app = app(cli, &server.connection_string())?;
        let containers = ContainersFile::read(app.root.join("infra/containers.json"))?;
        endpoint.provision(DATABASE, &containers).await?;
        let database = endpoint.client().await?.database_client(DATABASE);
        write(&database).await?;
        let options = HostOptions {
            poll_delay: Some(Duration::from_millis(100)),
            // Pauses of 2 to 60 ms: who kills a handler every 300 ms wants to meet it at work.
            retry_scale: 0.001,
            console: if cli.verbose { Console::stderr() } else { Console::silent() },
            ..HostOptions::new(&app.folder)
        };
        let executable = app.executable();
        let host = Host::start(app.functions.clone(), &app.settings, options).await?;
        let api = HttpApi::new(host.url());
        Ok(Self { endpoint, database, host, api, executable, _server: server })
    }
}

/// Renames a user with many items.
pub(super) async fn run(cli: &Cli) -> anyhow::Result<Outcome> {
    let stage =
        Stage::start(cli, async |database| author::write_items(database, cli.items).await).await?;
    let Stage { endpoint, database, host, api, .. } = &stage;
    put_user(api, ANN, BEFORE).await?;
    put_user(api, BOB, BOB).await?;
    quiet(endpoint).await;

    let before = endpoint.request_count();
    put_user(api, ANN, AFTER).await?;
    let begin = Instant::now();
    let mut kills = 0;
    let mut peak = Peak::default();
    tokio::select! {
        renamed = until_renamed(cli, endpoint, before, database) => renamed?,
        () = kill(cli, host, &mut kills) => {}
        () = peak.watch(&stage.executable) => {}
        failure = host.failed() => return Err(failure.into()),
    }
    let duration = begin.elapsed();
    quiet(endpoint).await;
    let mut divergences = author::check_names(database, cli.items).await?;
    if !cli.alone {
        divergences.extend(author::check_copies(database, cli.items).await?);
    }
    let replacements = replacements(endpoint, before);
    stage.host.stop().await;
    Ok(Outcome {
        items: cli.items,
        kills,
        replacements,
        duration,
        peak_memory: peak.kibibytes(),
        divergences,
    })
}

fn app(cli: &Cli, connection: &str) -> anyhow::Result<BuiltApp> {
    let mut app = handler::app(connection)?;
    app.settings.set("Background__RequestUnitsPerSecond", cli.request_units.to_string());
    if cli.alone {
        for name in OTHERS {
            app.settings.set(format!("AzureWebJobs.{name}.Disabled"), "true");
        }
        app.functions = FunctionApp::load(&app.root, &app.settings)?;
    }
    Ok(app)
}

pub(super) async fn put_user(api: &HttpApi, id: &str, name: &str) -> anyhow::Result<()> {
    let call = Call::new(Method::PUT, format!("/api/users/{id}")).body(json!({"username": name}));
    let reply = api.send(call).await.context("the host did not answer")?;
    ensure!(matches!(reply.status, 200 | 201), "the name was refused: {}", reply.body);
    Ok(())
}

/// How many replacements were sent to `posts`, those that were refused included.
fn replacements(endpoint: &CosmosEndpoint, since: usize) -> usize {
    let requests = endpoint.requests_since(since);
    let replaces = requests.iter().filter(|request| request.kind == RequestKind::Replace);
    replaces.filter(|request| request.container == "posts").count()
}

/// Waits until no item has the old name.
async fn until_renamed(
    cli: &Cli,
    endpoint: &CosmosEndpoint,
    since: usize,
    database: &DatabaseClient,
) -> anyhow::Result<()> {
    let mut progress = (0, Instant::now());
    loop {
        sleep(Duration::from_millis(200)).await;
        let sent = replacements(endpoint, since);
        // Counting is work for the store: only when it can be done.
        if sent >= cli.items && author::is_renamed(database).await? {
            return Ok(());
        }
        if sent > progress.0 {
            progress = (sent, Instant::now());
        }
        if progress.1.elapsed() >= STUCK {
            bail!("the rename is stuck after {sent} replacements");
        }
    }
}

/// Kills the handler each time that it has lived for so long.
pub(super) async fn kill(cli: &Cli, host: &Host, kills: &mut usize) {
    if cli.kill_every == 0 {
        pending::<()>().await;
    }
    while host.crash_after(Duration::from_millis(cli.kill_every)).await {
        *kills += 1;
    }
    // The handler has failed for good, which the host tells.
    pending::<()>().await;
}

/// Waits until only the change feeds are read.
pub(super) async fn quiet(endpoint: &CosmosEndpoint) {
    loop {
        let before = endpoint.request_count();
        sleep(QUIET).await;
        let requests = endpoint.requests_since(before);
        if requests.iter().all(|request| request.kind == RequestKind::ChangeFeed) {
            return;
        }
    }
}

impl Outcome {
    fn writes_per_item(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
        let ratio = self.replacements as f64 / self.items as f64;
        ratio
    }

    pub(super) fn is_right(&self) -> bool {
        self.divergences.is_empty() && self.writes_per_item() < MOST_WRITES
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.duration.as_secs_f64();
        write!(
            f,
            "{} items, handler killed {} times: {} replacements ({:.3} for each item), {seconds:.1} \
             s, ",
            self.items,
            self.kills,
            self.replacements,
            self.writes_per_item(),
        )?;
        match self.peak_memory {
            Some(kibibytes) => write!(f, "at most {} MiB of memory, ", kibibytes / 1024)?,
            None => write!(f, "memory unknown, ")?,
        }
        write!(f, "{} divergences", self.divergences.len())?;
        for line in self.divergences.iter().take(20) {
            write!(f, "\n  differs: {line}")?;
        }
        Ok(())
    }
}
