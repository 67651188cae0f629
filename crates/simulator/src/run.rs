//! One seed: a store, a host with its handlers, the clients; then quiet, and the comparison.

use std::{
    fmt,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use azure_data_cosmos::{FeedScope, Query};
use futures::{TryStreamExt as _, future::try_join_all};
use serde_json::Value;
use tributary_local::{
    chaos::{Chaos, ChaosSpec, Kind},
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions},
    host::{
        Console, FeedOptions, FeedPump, HandlerProcess, Host, HostOptions, HttpInvoker, Trigger,
    },
};
use tributary_simulator::{Simulation, Tally, World, check, simulate};

use crate::{
    Cli,
    handler::{App, HttpApi},
};

const DATABASE: &str = "tributary";

/// What came of a seed.
pub(crate) struct Outcome {
    seed: u64,
    tally: Tally,
    injected: Vec<(Kind, u64)>,
    dead_letters: Vec<String>,
    divergences: Vec<String>,
    duration: Duration,
}

/// Runs one seed.
pub(crate) async fn run(cli: &Cli, spec: &ChaosSpec, seed: u64) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let chaos = Chaos::new(spec.clone(), seed);
    let options = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
    let endpoint = CosmosEndpoint::in_process(options)?;
    let server = endpoint.serve(0).await?;
    let app = App::load(&server.connection_string())?;
    let containers = ContainersFile::read(app.root.join("infra/containers.json"))?;
    endpoint.provision(DATABASE, &containers).await?;
    let console = if cli.verbose { Console::stderr() } else { Console::silent() };

    let options = HostOptions {
        poll_delay: Some(Duration::from_millis(100)),
        retry_scale: 0.05,
        console: console.clone(),
        chaos: Some(chaos.clone()),
        ..HostOptions::new(&app.folder)
    };
    let host = Host::start(app.functions.clone(), &app.settings, options).await?;
    let simulation = Simulation {
        world: World { clients: 8, users: 5, posts: 20, reuse_ids: cli.reuse_ids },
        operations: cli.operations,
        seed,
        patience: Duration::from_millis(100),
        crashes: spec.probability(Kind::Crash) > 0.0,
    };
    let (model, tally) = tokio::select! {
        done = simulate(Arc::new(HttpApi::new(host.url())), &simulation) => done,
        failure = host.failed() => return Err(failure.into()),
    };
    chaos.stop();
    host.stop().await;

    // A process that knows nothing of before takes what is left.
    let handler = HandlerProcess::start(app.handler(), console.clone());
    let url = handler.watch().url().await?;
    drain(&endpoint, &app, &url, &console).await?;
    let mut divergences = check(&HttpApi::new(&url), &model).await;
    handler.stop().await;
    if cli.audit {
        divergences.extend(audit(&app).await?);
    }
    let dead_letters = dead_letters(&endpoint).await?;
    let injected = chaos.injected();
    Ok(Outcome { seed, tally, injected, dead_letters, divergences, duration: started.elapsed() })
}

/// Delivers all changes that are left, until nothing changes any more.
async fn drain(
    endpoint: &CosmosEndpoint,
    app: &App,
    url: &str,
    console: &Console,
) -> anyhow::Result<()> {
    let client = endpoint.client().await?;
    let mut pumps = Vec::new();
    for function in app.functions.functions() {
        if matches!(function.trigger, Trigger::Cosmos(_)) {
            let options = FeedOptions {
                retry_scale: 0.05,
                console: console.clone(),
                ..FeedOptions::default()
            };
            let invoker = Arc::new(HttpInvoker::new(url));
            pumps.push(FeedPump::new(client.clone(), function, invoker, options)?);
        }
    }
    while try_join_all(pumps.iter().map(FeedPump::drain)).await?.iter().sum::<usize>() > 0 {}
    Ok(())
}

/// What is in the container of dead letters: nothing that goes wrong here is for good.
async fn dead_letters(endpoint: &CosmosEndpoint) -> anyhow::Result<Vec<String>> {
    let database = endpoint.client().await?.database_client(DATABASE);
    let container = database.container_client("dead-letters", None).await?;
    let query = Query::from("SELECT * FROM c");
    let letters = container.query_items(query, FeedScope::full_container(), None).await?;
    let letters: Vec<Value> = letters.try_collect().await?;
    let text = |letter: &Value| {
        format!("{} {}: {}", letter["function"], letter["documentId"], letter["reason"])
    };
    Ok(letters.iter().map(text).collect())
}

/// What the audit of the store finds.
async fn audit(app: &App) -> anyhow::Result<Vec<String>> {
    let output = tokio::process::Command::new(app.executable())
        .arg("audit")
        .envs(app.settings.iter())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("the audit cannot be started")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.code().is_some(), "the audit was killed: {errors}");
    Ok(if output.status.success() { Vec::new() } else { vec![format!("audit: {text}{errors}")] })
}

impl Outcome {
    pub(crate) fn is_right(&self) -> bool {
        self.tally.wrong.is_empty() && self.divergences.is_empty() && self.dead_letters.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { acknowledged, throttled, unavailable, killed, wrong } = &self.tally;
        write!(
            f,
            "seed {}: {acknowledged} operations acknowledged, {} wrong; sent again after \
             {throttled} × 429, {unavailable} × 503, {killed} × killed; injected:",
            self.seed,
            wrong.len()
        )?;
        for (kind, count) in &self.injected {
            write!(f, " {} {count},", kind.name())?;
        }
        write!(
            f,
            " then {} dead letters, {} divergences; {:.0} s",
            self.dead_letters.len(),
            self.divergences.len(),
            self.duration.as_secs_f64()
        )?;
        let lists =
            [("wrong", wrong), ("dead letter", &self.dead_letters), ("differs", &self.divergences)];
        for (what, list) in lists {
            for line in list.iter().take(20) {
                write!(f, "\n  {what}: {line}")?;
            }
        }
        Ok(())
    }
}
