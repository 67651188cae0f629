//! One seed: a store, a host with its handlers, the clients; then quiet, and the comparison.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use azure_data_cosmos::{DatabaseClient, FeedScope, Query};
use futures::{TryStreamExt as _, future::try_join_all};
use serde_json::Value;
use tributary_local::{
    chaos::{Chaos, ChaosSpec, Kind},
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions},
    host::{
        BuiltApp, Console, FeedOptions, FeedPump, HandlerProcess, Host, HostOptions, HttpInvoker,
        Trigger,
    },
};
use tributary_simulator::{Simulation, World, check, simulate};

use crate::{
    Cli,
    audit::audit,
    handler::{self, HttpApi},
    outcome::Outcome,
};

const DATABASE: &str = "tributary";

/// How far a stale read is behind at most (docs/chaos.md), and a second on a busy machine.
const MOST_BEHIND: Duration = Duration::from_secs(3);

/// Runs one seed.
pub(crate) async fn run(cli: &Cli, spec: &ChaosSpec, seed: u64) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let chaos = Chaos::new(spec.clone(), seed);
    let options = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
    let endpoint = CosmosEndpoint::in_process(options)?;
    let server = endpoint.serve(0).await?;
    let app = handler::app(&server.connection_string())?;
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
        world: World { clients: 8, users: 5, posts: 20, reuse_ids: !cli.new_ids },
        operations: cli.operations,
        seed,
        patience: Duration::from_millis(100),
        crashes: spec.probability(Kind::Crash) > 0.0,
        behind: if spec.probability(Kind::Stale) > 0.0 { MOST_BEHIND } else { Duration::ZERO },
    };
    let (model, tally) = tokio::select! {
        done = simulate(Arc::new(HttpApi::new(host.url())), &simulation) => done,
        failure = host.failed() => return Err(failure.into()),
    };
    chaos.stop();
    host.stop().await;
    let quiet_since = Instant::now();

    // A process that knows nothing of before takes what is left.
    let handler = HandlerProcess::start(app.handler(), console.clone());
    let url = handler.watch().url().await?;
    drain(&endpoint, &app, &url, &console).await?;
    let api = HttpApi::new(&url);
    let database = endpoint.client().await?.database_client(DATABASE);
    let mut divergences = check(&api, &model).await;
    let mut reservations_left = None;
    if !cli.no_audit {
        let audited = audit(&app, &database, &model, quiet_since).await?;
        reservations_left = Some(audited.reservations_left);
        divergences.extend(audited.divergences);
        // A repair takes nothing away that was acknowledged.
        drain(&endpoint, &app, &url, &console).await?;
        let after = check(&api, &model).await;
        divergences.extend(after.into_iter().map(|differs| format!("after the repair: {differs}")));
    }
    handler.stop().await;
    Ok(Outcome {
        seed,
        tally,
        injected: chaos.injected(),
        dead_letters: dead_letters(&database).await?,
        reservations_left,
        divergences,
        duration: started.elapsed(),
    })
}

/// Delivers all changes that are left, until nothing changes any more.
async fn drain(
    endpoint: &CosmosEndpoint,
    app: &BuiltApp,
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
async fn dead_letters(database: &DatabaseClient) -> anyhow::Result<Vec<String>> {
    let letters = items(database, "dead-letters", Query::from("SELECT * FROM c")).await?;
    let text = |letter: &Value| {
        format!("{} {}: {}", letter["function"], letter["documentId"], letter["reason"])
    };
    Ok(letters.iter().map(text).collect())
}

/// What a query of a whole container gives.
pub(crate) async fn items(
    database: &DatabaseClient,
    container: &str,
    query: Query,
) -> anyhow::Result<Vec<Value>> {
    let container = database.container_client(container, None).await?;
    let items = container.query_items(query, FeedScope::full_container(), None).await?;
    Ok(items.try_collect().await?)
}
