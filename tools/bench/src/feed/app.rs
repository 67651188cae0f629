//! An empty account, the handler on it, and a pump for each projection.

use std::{
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use azure_data_cosmos::CosmosClient;
use futures::future::try_join_all;
use serde_json::{Value, json};
use tributary_local::client::{Call, Client};
use tributary_local::{
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer},
    host::{BuiltApp, Console, FeedOptions, FeedPump, HandlerProcess, HttpInvoker, Invoker},
};

use super::blog::{FeedPosts, USERS, user_id};

const DATABASE: &str = "tributary";

/// The longest wait for a line of the handler's log.
const LOG_LINE_DEADLINE: Duration = Duration::from_secs(10);

pub(super) struct FeedApp {
    pub(super) url: String,
    pub(super) blog: FeedPosts,
    built: BuiltApp,
    client: CosmosClient,
    http: Client,
    log: Console,
    /// The number of lines of the log that were read.
    read: AtomicUsize,
    /// Both end on drop.
    _handler: HandlerProcess,
    _server: RunningServer,
}

/// The cost of changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FeedCost {
    pub(super) requests: f64,
    pub(super) request_units: f64,
}

impl FeedApp {
    /// Starts a handler on an empty account.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let options = EndpointOptions { partitions: 1, ..EndpointOptions::default() };
        let endpoint = CosmosEndpoint::in_process(options)?;
        let server = endpoint.serve(0).await?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut built = BuiltApp::load(&root, &server.connection_string())?;
        for (name, value) in
            [("RUST_LOG", "info"), ("Log__Format", "json"), ("Rename__RequestUnitsPerSecond", "0")]
        {
            built.settings.set(name, value);
        }
        let containers = ContainersFile::read(built.root.join("infra/containers.json"))?;
        endpoint.provision(DATABASE, &containers).await?;
        let client = endpoint.client().await?;
        let log = Console::kept();
        let handler = HandlerProcess::start(built.handler(), log.clone());
        let url = handler.watch().url().await?;
        Ok(Self {
            http: Client::new(&url)?,
            url,
            blog: FeedPosts::open(&client.database_client(DATABASE)).await?,
            built,
            client,
            log,
            read: AtomicUsize::new(0),
            _handler: handler,
            _server: server,
        })
    }

    /// Creates the users.
    pub(super) async fn users(&self) -> anyhow::Result<()> {
        self.name_users("Author", 201).await
    }

    /// Renames each user.
    pub(super) async fn rename_users(&self) -> anyhow::Result<()> {
        self.name_users("Writer", 200).await
    }

    async fn name_users(&self, name: &str, expected: u16) -> anyhow::Result<()> {
        let puts = (0..USERS).map(async |n| {
            let body = json!({"username": format!("{name}{n}")});
            let path = format!("/api/users/{}", user_id(n));
            let (status, answer) = self.send("PUT", &path, &body).await?;
            ensure!(status == expected, "the name was answered with {status}: {answer}");
            Ok(())
        });
        try_join_all(puts).await.map(drop)
    }

    /// Sends a request of the API, and returns status and body of the answer.
    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<(u16, Value)> {
        let reply = self.http.send(&Call::new(method.parse()?, path).json(body.clone())).await?;
        Ok((reply.status.as_u16(), reply.json()))
    }

    /// Returns a pump for a projection.
    pub(super) fn pump(&self, function: &str) -> anyhow::Result<FeedPump> {
        self.pump_into(function, Arc::new(HttpInvoker::new(&*self.url)), None)
    }

    /// Returns a pump that delivers to `invoker`.
    pub(super) fn pump_into(
        &self,
        function: &str,
        invoker: Arc<dyn Invoker>,
        poll_delay: Option<Duration>,
    ) -> anyhow::Result<FeedPump> {
        let function = self.built.functions.function(function).context("no such function")?;
        let options =
            FeedOptions { console: Console::silent(), poll_delay, ..FeedOptions::default() };
        Ok(FeedPump::new(self.client.clone(), function, invoker, options)?)
    }

    /// Returns the cost of changes in the functions' log lines since the last call.
    pub(super) async fn cost(
        &self,
        functions: &[&str],
        changes: usize,
    ) -> anyhow::Result<FeedCost> {
        let begin = Instant::now();
        loop {
            let lines = self.log.lines();
            let batches =
                lines[self.read.load(Relaxed).min(lines.len())..].iter().filter_map(|line| {
                    let line: Value =
                        serde_json::from_str(line.strip_prefix("handler | ")?).ok()?;
                    let of_these = functions.iter().any(|function| line["function"] == *function);
                    (of_these && line["message"] == "Applied a batch of changes").then_some(line)
                });
            let mut cost = FeedCost::default();
            let mut delivered = 0;
            for batch in batches {
                delivered += batch["delivered"].as_u64().unwrap_or(0);
                cost.requests += batch["store.requests"].as_f64().unwrap_or(0.0);
                cost.request_units += batch["request_charge_ru"].as_f64().unwrap_or(0.0);
            }
            if delivered == changes as u64 {
                self.read.store(lines.len(), Relaxed);
                return Ok(cost);
            }
            ensure!(
                begin.elapsed() < LOG_LINE_DEADLINE,
                "the log of {functions:?} tells of {delivered} changes instead of {changes}"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Fails unless all copies are right by `tributary audit`, and there is no dead letter.
    pub(super) async fn check(&self) -> anyhow::Result<()> {
        let (status, letters) = self.send("GET", "/api/dead-letters", &Value::Null).await?;
        ensure!(
            status == 200 && letters["items"] == json!([]),
            "there are dead letters: {letters}"
        );
        let output = tokio::process::Command::new(self.built.executable())
            .args(["audit", "--settle", "0"])
            .envs(self.built.settings.iter())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("the audit cannot be started")?;
        ensure!(
            output.status.success(),
            "the audit has findings:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}
