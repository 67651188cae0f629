//! One seed: a store, a host with its handlers, the clients; then quiet, and the comparison.

use std::{
    convert::Infallible,
    path::Path,
    process::{Output, Stdio},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context as _, ensure};
use azure_data_cosmos::{CosmosClient, DatabaseClient, FeedScope, Query};
use futures::{TryStreamExt as _, future::try_join_all};
use serde_json::Value;
use tokio::process::Command;
use tributary_local::{
    chaos::{Chaos, ChaosSpec},
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions},
    host::{
        BuiltApp, Console, FeedOptions, FeedPump, FunctionTrigger, HandlerProcess, Host,
        HostOptions, HttpInvoker,
    },
};

use crate::{
    ChaosCli, SeedOutcome,
    api::{Api, Comparison, text},
    audit::audit,
    clients::simulate,
    copies::ManyCopies,
    poison::{Poisoner, WRITE_PAUSE, explains},
    rebuilds::Rebuilder,
    workload::Workload,
};

const DATABASE: &str = "tributary";

const DRAIN_DEADLINE: Duration = Duration::from_mins(30);

/// Longer than the time to live of any item that a run writes.
const LONGEST_TTL: Duration = Duration::from_hours(100 * 24);

const LATER_DAYS: [i32; 3] = [1, 45, 100];

pub(crate) async fn run<W: Workload>(
    cli: &ChaosCli,
    spec: &ChaosSpec,
    seed: u64,
    workload: W,
) -> anyhow::Result<SeedOutcome> {
    let started = Instant::now();
    let mut copies = (cli.copies > 0).then(|| W::many_copies(cli.copies)).flatten();
    ensure!(cli.copies == 0 || copies.is_some(), "the domain has no source of many copies");

    let chaos = Chaos::new(spec.clone(), seed);
    let options = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
    let endpoint = CosmosEndpoint::new(options)?;
    let server = endpoint.serve(0).await?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut app = BuiltApp::load(&folder, &server.connection_string())?;
    for (name, value) in workload.settings() {
        app.settings.set(name, value);
    }
    if copies.is_some() {
        app.settings.set("Background__RequestUnitsPerSecond", "0");
    }
    let containers = ContainersFile::read(app.root.join("infra/containers.json"))?;
    endpoint.provision(DATABASE, &containers).await?;
    let database = endpoint.client().await?.database_client(DATABASE);
    chaos.stop();
    if let Some(copies) = &copies {
        copies.write(&database).await?;
    }
    let options = HostOptions {
        poll_delay: Some(Duration::from_millis(100)),
        retry_scale: 0.05,
        console: Console::silent(),
        chaos: Some(chaos.clone()),
        ..HostOptions::new(&app.folder)
    };
    let host = Host::start(app.functions.clone(), &app.settings, options).await?;
    let api = Api::new(host.url(), false)?;
    let created = async {
        if let Some(copies) = &mut copies {
            copies.rename(&api).await?;
            copies.listed(&api).await?;
        }
        anyhow::Ok(())
    };
    tokio::select! {
        created = created => created?,
        failure = host.failed() => return Err(failure.into()),
    }
    chaos.resume();

    let mut poisoner = Poisoner::new(database, &containers, seed, cli.poison);
    let rebuilt = if cli.rebuild { W::PROJECTIONS } else { &[] };
    let mut rebuilder = Rebuilder::new(app.clone(), rebuilt, cli.copies, seed);
    let poison = async {
        poisoner.complete(WRITE_PAUSE).await?;
        std::future::pending::<anyhow::Result<Infallible>>().await
    };
    let renames = async {
        match &mut copies {
            Some(copies) => copies.keep_renaming(&api).await,
            None => std::future::pending().await,
        }
    };
    // Only the clients end; each of the others has an error.
    let (model, tally) = tokio::select! {
        done = simulate(&api, workload, cli.operations, seed, spec) => done,
        error = poison => match error? {},
        error = rebuilder.keep_on() => match error? {},
        error = renames => match error? {},
        failure = host.failed() => return Err(failure.into()),
    };
    chaos.stop();
    poisoner.complete(Duration::ZERO).await?;
    host.stop().await;
    let quiet_since = Instant::now();

    // A new process, without memory of the run, processes the rest.
    let client = endpoint.client().await?;
    let database = client.database_client(DATABASE);
    let divergences = Vec::new();
    let mut store = QuietStore { endpoint, client, containers, app, model, divergences };
    let explained =
        store.compare(&mut rebuilder, copies.as_mut(), tally.killed, quiet_since).await?;
    let letters = items(&database, "dead-letters", "SELECT * FROM c").await?;
    let mut divergences = store.divergences;
    divergences.extend(poisoner.without_dead_letter(&letters).await?);
    Ok(SeedOutcome {
        tally,
        injected: chaos.injected(),
        counts: vec![
            ("poisoned", poisoner.written.len() as u64),
            ("leaked reservations", explained as u64),
            ("rebuilds", rebuilder.ended as u64),
            ("renames", copies.map_or(0, |copies: ManyCopies| copies.renamed as u64)),
        ],
        dead_letters: dead_letters(&letters, cli.poison > 0),
        divergences,
        duration: started.elapsed(),
    })
}

struct QuietStore<W> {
    endpoint: CosmosEndpoint,
    /// Its leases are those of the run.
    client: CosmosClient,
    containers: ContainersFile,
    app: BuiltApp,
    model: W,
    divergences: Vec<String>,
}

struct QuietHandler {
    process: HandlerProcess,
    url: String,
    api: Api,
}

impl<W: Workload> QuietStore<W> {
    /// Ends the work in the background, and compares all queries with the model: after quiet, after duplicate
    /// deliveries, after the repair of an audit, after the expiry of items, and after days, if the items of the
    /// domain change with their age. Returns the number of leaked reservations that the chaos explains.
    async fn compare(
        &mut self,
        rebuilder: &mut Rebuilder,
        copies: Option<&mut ManyCopies>,
        killed: usize,
        quiet_since: Instant,
    ) -> anyhow::Result<usize> {
        let handler = self.handler().await?;
        let database = self.client.database_client(DATABASE);
        self.drain(&handler, &self.client).await?;
        rebuilder.complete().await?;
        self.drain(&handler, &self.client).await?;
        let mut may_leak = killed;
        if let Some(copies) = copies {
            may_leak += copies.renamed;
            copies.complete(&handler.api).await?;
            self.drain(&handler, &self.client).await?;
            copies.check_list(&handler.api).await?;
            self.divergences.extend(copies.check(&database).await?);
        }
        self.check("after quiet", &handler).await?;
        if delete_copies::<W>(&database).await? > 0 {
            // Without leases, all changes are delivered from the beginning.
            let other = CosmosEndpoint::new(EndpointOptions::default())?;
            other.provision(DATABASE, &self.containers).await?;
            self.drain(&handler, &other.client().await?).await?;
            self.check("after a duplicate delivery", &handler).await?;
        }
        let (explained, found) = audit(&self.app, may_leak, quiet_since).await?;
        self.divergences.extend(found);
        // A repair must keep all acknowledged writes.
        self.drain(&handler, &self.client).await?;
        self.check("after the repair", &handler).await?;
        // All items with a time to live have expired, and no others.
        self.endpoint.expire_items(SystemTime::now() + LONGEST_TTL).await;
        self.check("after the expiry", &handler).await?;
        handler.process.stop().await;
        for days in LATER_DAYS {
            if !self.model.days_pass(days) {
                break;
            }
            for (name, value) in self.model.settings() {
                self.app.settings.set(name, value);
            }
            let handler = self.handler().await?;
            self.check(&format!("after {days} more days"), &handler).await?;
            self.endpoint.expire_items(SystemTime::now() + LONGEST_TTL).await;
            self.check(&format!("after {days} more days and the expiry"), &handler).await?;
            handler.process.stop().await;
        }
        Ok(explained)
    }

    async fn handler(&self) -> anyhow::Result<QuietHandler> {
        let process = HandlerProcess::start(self.app.handler(), Console::silent());
        let url = process.watch().url().await?;
        Ok(QuietHandler { process, api: Api::new(&url, true)?, url })
    }

    async fn check(&mut self, when: &str, handler: &QuietHandler) -> anyhow::Result<()> {
        let mut it = Comparison { api: &handler.api, divergences: Vec::new() };
        self.model.check(&mut it).await;
        let found = it.divergences.into_iter().map(|differs| format!("{when}: {differs}"));
        self.divergences.extend(found);
        Ok(())
    }

    /// Delivers all changes that these leases do not have yet, until there are no more.
    async fn drain(&self, handler: &QuietHandler, leases: &CosmosClient) -> anyhow::Result<()> {
        let mut pumps = Vec::new();
        for function in self.app.functions.functions() {
            if matches!(function.trigger, FunctionTrigger::Cosmos(_)) {
                let options = FeedOptions {
                    retry_scale: 0.05,
                    console: Console::silent(),
                    lease_client: Some(leases.clone()),
                    ..FeedOptions::default()
                };
                let invoker = Arc::new(HttpInvoker::new(&handler.url));
                pumps.push(FeedPump::new(self.client.clone(), function, invoker, options)?);
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
async fn delete_copies<W: Workload>(database: &DatabaseClient) -> anyhow::Result<usize> {
    let mut deleted = 0;
    for &(container, query) in W::COPIES {
        let copies = items(database, container, query).await?;
        let container = database.container_client(container, None).await?;
        for copy in copies.iter().step_by(10) {
            container.delete_item(text(copy, "key").to_owned(), text(copy, "id"), None).await?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

fn dead_letters(letters: &[Value], is_poisoned: bool) -> Vec<String> {
    let unexplained = letters.iter().filter(|letter| !(is_poisoned && explains(letter)));
    unexplained
        .map(|letter| {
            format!("{} {}: {}", letter["function"], letter["documentId"], letter["reason"])
        })
        .collect()
}

pub(crate) async fn items(
    database: &DatabaseClient,
    container: &str,
    query: impl Into<Query>,
) -> anyhow::Result<Vec<Value>> {
    let container = database.container_client(container, None).await?;
    let items = container.query_items(query.into(), FeedScope::full_container(), None).await?;
    Ok(items.try_collect().await?)
}

pub(crate) async fn command_of(app: &BuiltApp, arguments: &[&str]) -> anyhow::Result<Output> {
    Command::new(app.executable())
        .args(arguments)
        .envs(app.settings.iter())
        .env("Background__RequestUnitsPerSecond", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("{arguments:?} cannot be started"))
}
