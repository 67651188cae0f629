//! One seed: a store, a host with its handlers, the clients; then quiet, and the comparison.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use anyhow::Context as _;
use azure_data_cosmos::{CosmosClient, DatabaseClient};
use futures::future::{pending, try_join_all};
use serde_json::Value;
use tributary_local::{
    chaos::{Chaos, ChaosKind, ChaosSpec},
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions},
    host::{
        BuiltApp, Console, FeedOptions, FeedPump, FunctionTrigger, HandlerProcess, Host,
        HostOptions, HttpInvoker,
    },
};
use tributary_simulator::{Bystanders, Simulation, Workload, items, simulate};

use crate::{
    ChaosCli, MAX_LAG,
    audit::audit,
    bystanders,
    handler::{self, HttpApi},
    memory::Peak,
    outcome::SeedOutcome,
    poison::{Poisoner, explains},
    rebuilds::Rebuilder,
};

const DATABASE: &str = "tributary";

/// The time in which the rest of the change feed must be delivered.
const DRAIN_DEADLINE: Duration = Duration::from_mins(10);

/// Longer than the time to live of any item that a run writes.
const LONGEST_TTL: Duration = Duration::from_hours(100 * 24);

/// Runs one seed of a workload.
pub(crate) async fn run<W: Workload>(
    cli: &ChaosCli,
    spec: &ChaosSpec,
    seed: u64,
    workload: W,
) -> anyhow::Result<SeedOutcome> {
    let started = Instant::now();
    let chaos = Chaos::new(spec.clone(), seed);
    let options = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
    let endpoint = CosmosEndpoint::in_process(options)?;
    let server = endpoint.serve(0).await?;
    let mut app = handler::app(&server.connection_string())?;
    for (name, value) in workload.settings() {
        app.settings.set(name, value);
    }
    let containers = ContainersFile::read(app.root.join("infra/containers.json"))?;
    endpoint.provision(DATABASE, &containers).await?;
    let console = if cli.verbose { Console::verbose() } else { Console::silent() };

    let options = HostOptions {
        poll_delay: Some(Duration::from_millis(100)),
        retry_scale: 0.05,
        console: console.clone(),
        chaos: Some(chaos.clone()),
        ..HostOptions::new(&app.folder)
    };
    let host = Host::start(app.functions.clone(), &app.settings, options).await?;
    let simulation = Simulation {
        operations: cli.operations,
        seed,
        patience: Duration::from_millis(100),
        crashes: spec.probability(ChaosKind::Crash) > 0.0,
    };
    let api = Arc::new(HttpApi::new(host.url())?);
    let client = endpoint.client().await?;
    let database = client.database_client(DATABASE);
    let mut bystanders = workload.bystanders(cli.bystanders);
    chaos.stop();
    let reader = HttpApi::new(host.url())?;
    tokio::select! {
        created = bystanders::create(&reader, &mut bystanders, MAX_LAG) => created?,
        failure = host.failed() => return Err(failure.into()),
    }
    chaos.resume();
    let mut lists_read = 0;
    let mut peak = Peak::default();
    let executable = app.executable();
    let mut poisoner = Poisoner::new(database, &containers, seed, cli.poison);
    let work = simulate(api, workload, &simulation);
    let poison = async {
        match poisoner.sprinkle().await {
            Ok(()) => pending().await,
            Err(error) => error,
        }
    };
    let mut rebuilder = Rebuilder::new(&app, cli, seed)?;
    let (model, tally) = tokio::select! {
        done = work => done?,
        error = poison => return Err(error),
        error = rebuilder.keep_on() => return Err(error),
        never = peak.watch(&executable) => match never {},
        error = bystanders::keep_reading(&reader, &bystanders, seed, &mut lists_read) => return Err(error),
        failure = host.failed() => return Err(failure.into()),
    };
    chaos.stop();
    poisoner.complete().await?;
    host.stop().await;
    let quiet_since = Instant::now();

    // A new process, without memory of the run, processes the rest.
    let handler = HandlerProcess::start(app.handler(), console.clone());
    let url = handler.watch().url().await?;
    let leases = endpoint.client().await?;
    let store = QuietStore { endpoint, containers, app: &app, url, console };
    store.drain(&leases).await?;
    let under_chaos = rebuilder.ended.len();
    rebuilder.complete().await?;
    rebuilder.report(under_chaos);
    if lists_read > 0 {
        eprintln!("Seed {seed}: {lists_read} lists of bystanders were complete");
    }
    if let Some(kibibytes) = peak.kibibytes() {
        eprintln!("Seed {seed}: a process took at most {} MiB of memory", kibibytes / 1024);
    }
    store.drain(&leases).await?;
    let audited = (!cli.no_audit).then_some(quiet_since);
    let (explained, mut divergences) = store.compare(&model, &bystanders, audited, &leases).await?;
    handler.stop().await;
    let letters =
        items(&leases.database_client(DATABASE), "dead-letters", "SELECT * FROM c").await?;
    divergences.extend(poisoner.without_dead_letter(&letters).await?);
    Ok(SeedOutcome {
        seed,
        tally,
        injected: chaos.injected(),
        poisoned: poisoner.written.len(),
        dead_letters: dead_letters(&letters, cli.poison > 0),
        explained,
        divergences,
        duration: started.elapsed(),
    })
}

/// The store after a run, with a handler that nothing disturbs.
struct QuietStore<'a> {
    endpoint: CosmosEndpoint,
    containers: ContainersFile,
    app: &'a BuiltApp,
    url: String,
    console: Console,
}

impl QuietStore<'_> {
    /// Compares all queries with the model: after quiet, after duplicate deliveries, after the repair of an
    /// audit of what is older than `audited`, and after the expiry of items. Returns the number of findings
    /// that the chaos explains, and the differences.
    async fn compare(
        &self,
        model: &impl Workload,
        bystanders: &Bystanders,
        audited: Option<Instant>,
        leases: &CosmosClient,
    ) -> anyhow::Result<(Option<usize>, Vec<String>)> {
        let api = HttpApi::new(&self.url)?;
        let database = leases.database_client(DATABASE);
        let mut divergences = model.check(&api).await;
        divergences.extend(bystanders::missing(&api, bystanders).await?);
        if delete_copies(&database, model).await? > 0 {
            // Without leases, all changes are delivered from the beginning.
            let other = CosmosEndpoint::in_process(EndpointOptions::default())?;
            other.provision(DATABASE, &self.containers).await?;
            self.drain(&other.client().await?).await?;
            let mut again = model.check(&api).await;
            again.extend(bystanders::missing(&api, bystanders).await?);
            divergences.extend(
                again.into_iter().map(|differs| format!("after a duplicate delivery: {differs}")),
            );
        }
        let mut explained = None;
        if let Some(quiet_since) = audited {
            let audited = audit(self.app, &database, model, quiet_since).await?;
            explained = Some(audited.explained);
            divergences.extend(audited.divergences);
            // A repair must keep all acknowledged writes.
            self.drain(leases).await?;
            let after = model.check(&api).await;
            divergences
                .extend(after.into_iter().map(|differs| format!("after the repair: {differs}")));
        }
        // All items with a time to live have expired, and no others.
        self.endpoint.expire_items(SystemTime::now() + LONGEST_TTL).await;
        let after = model.check(&api).await;
        divergences.extend(after.into_iter().map(|differs| format!("after the expiry: {differs}")));
        Ok((explained, divergences))
    }

    /// Delivers all changes that these leases do not have yet, until there are no more.
    async fn drain(&self, leases: &CosmosClient) -> anyhow::Result<()> {
        let client = self.endpoint.client().await?;
        let mut pumps = Vec::new();
        for function in self.app.functions.functions() {
            if matches!(function.trigger, FunctionTrigger::Cosmos(_)) {
                let options = FeedOptions {
                    retry_scale: 0.05,
                    console: self.console.clone(),
                    lease_client: Some(leases.clone()),
                    ..FeedOptions::default()
                };
                let invoker = Arc::new(HttpInvoker::new(&self.url));
                pumps.push(FeedPump::new(client.clone(), function, invoker, options)?);
            }
        }
        let all = async {
            while try_join_all(pumps.iter().map(FeedPump::drain)).await?.iter().sum::<usize>() > 0 {
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(DRAIN_DEADLINE, all).await.context("the change feed does not end")?
    }
}

/// Deletes every tenth copy, as an operator deletes an unreadable one. Returns their number.
async fn delete_copies(database: &DatabaseClient, model: &impl Workload) -> anyhow::Result<usize> {
    let mut deleted = 0;
    for &(container, query) in model.copies() {
        let copies = items(database, container, query).await?;
        let container = database.container_client(container, None).await?;
        for copy in copies.iter().step_by(10) {
            let part = |name: &str| copy[name].as_str().unwrap_or_default().to_owned();
            container.delete_item(part("key"), &part("id"), None).await?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

/// Returns the dead letters that no poisoned item explains: no fault of chaos is permanent.
fn dead_letters(letters: &[Value], is_poisoned: bool) -> Vec<String> {
    let text = |letter: &Value| {
        format!("{} {}: {}", letter["function"], letter["documentId"], letter["reason"])
    };
    let is_unexplained = |letter: &&Value| !(is_poisoned && explains(letter));
    letters.iter().filter(is_unexplained).map(text).collect()
}
