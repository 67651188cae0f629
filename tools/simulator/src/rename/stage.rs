//! The store, the host and the kills of a rename and of a removal, and the wait for their end.

use std::{
    future::pending,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use azure_data_cosmos::DatabaseClient;
use http::Method;
use serde_json::json;
use tokio::time::sleep;
use tributary_local::client::Call;
use tributary_local::{
    chaos::Chaos,
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RequestKind, RunningServer},
    host::{BuiltApp, Console, FunctionApp, Host, HostOptions},
};
use tributary_simulator::{Api as _, Reply};

use super::RenameCli;
use crate::handler::{self, HttpApi};
use crate::memory::Peak;

const DATABASE: &str = "tributary";

/// The container of a run.
#[derive(Clone, Copy)]
pub(super) struct RunTarget {
    /// The container whose items are written in the background.
    pub(super) container: &'static str,
    /// The other functions that read a change feed of this domain.
    pub(super) others: &'static [&'static str],
}

/// The posts of the blog.
pub(super) const POSTS: RunTarget =
    RunTarget { container: "posts", others: &["PostCopiesInUsers", "HomeFeed", "PostsIntegrity"] };

/// The time without a request after which the app has no work left.
const QUIET_TIME: Duration = Duration::from_secs(2);

/// The time without progress after which the work is stuck.
const STUCK_TIME: Duration = Duration::from_mins(2);

/// The longest time of a work. Edits continue beside a work that is stuck, so their requests do not end
/// it.
const MAX_WORK_TIME: Duration = Duration::from_mins(30);

/// The pause of a caller before a retry, and the number of its attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
const MAX_ATTEMPTS: usize = 300;

/// The store, the host and the handler of a run.
pub(super) struct Stage {
    pub(super) endpoint: CosmosEndpoint,
    pub(super) database: DatabaseClient,
    pub(super) host: Host,
    pub(super) api: HttpApi,
    subject: RunTarget,
    chaos: Option<Chaos>,
    executable: PathBuf,
    kill_every: Duration,
    _server: RunningServer,
}

/// The cost of a long work in the background.
pub(super) struct Worked {
    pub(super) duration: Duration,
    /// The number of kills of the handler meanwhile.
    pub(super) kills: usize,
    /// The number of its requests of its kind, those that were refused included.
    pub(super) sent: usize,
    /// In KiB, the peak of all handlers.
    pub(super) peak_memory: Option<u64>,
}

impl Stage {
    /// Starts the store, writes items to it, and then starts the host: its first batches are full, and
    /// there are few of them. Chaos waits for the work.
    pub(super) async fn start(
        cli: &RenameCli,
        subject: RunTarget,
        chaos: Option<Chaos>,
        write: impl AsyncFnOnce(&DatabaseClient) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        chaos.iter().for_each(Chaos::stop);
        let endpoint = CosmosEndpoint::in_process(EndpointOptions {
            partitions: 2,
            keep_requests: true,
            chaos: chaos.clone(),
            ..EndpointOptions::default()
        })?;
        let server = endpoint.serve(0).await?;
        let app = app(cli, subject, &server.connection_string())?;
        let containers = ContainersFile::read(app.root.join("infra/containers.json"))?;
        endpoint.provision(DATABASE, &containers).await?;
        let database = endpoint.client().await?.database_client(DATABASE);
        write(&database).await?;
        let options = HostOptions {
            poll_delay: Some(Duration::from_millis(100)),
            // Pauses of 2 to 60 ms, so that a handler that is killed every 300 ms is killed at work.
            retry_scale: 0.001,
            console: if cli.verbose { Console::verbose() } else { Console::silent() },
            chaos: chaos.clone(),
            ..HostOptions::new(&app.folder)
        };
        let executable = app.executable();
        let host = Host::start(app.functions.clone(), &app.settings, options).await?;
        let api = HttpApi::new(host.url())?;
        let kill_every = Duration::from_millis(cli.kill_every);
        Ok(Self {
            endpoint,
            database,
            host,
            api,
            subject,
            chaos,
            executable,
            kill_every,
            _server: server,
        })
    }

    /// Signs a user up, or renames it.
    pub(super) async fn put_user(&self, id: &str, name: &str) -> anyhow::Result<()> {
        let call = Call::new(Method::PUT, format!("/api/users/{id}"));
        let reply = self.api.send(call.json(json!({"username": name}))).await;
        let reply = reply.context("the host did not answer")?;
        ensure!(matches!(reply.status, 200 | 201), "the name was refused: {}", reply.body);
        Ok(())
    }

    /// Sends a command until its outcome is known, and fails unless it is a success.
    pub(super) async fn accepted(&self, call: &Call) -> anyhow::Result<Reply> {
        for _ in 0..MAX_ATTEMPTS {
            match self.api.send(call.clone()).await {
                Some(reply) if matches!(reply.status, 200..=299) => return Ok(reply),
                Some(reply) if !reply.is_unknown() => {
                    bail!("{call:?} was refused: {} {}", reply.status, reply.body)
                }
                _ => sleep(RETRY_PAUSE).await,
            }
        }
        bail!("{call:?} never had a known outcome");
    }

    /// Begins a work by a request and waits until it is done, while the handler is killed repeatedly,
    /// under chaos if there is any. The work sends requests of a kind to the container of the subject;
    /// it is stuck as soon as these end.
    pub(super) async fn work(
        &self,
        kind: RequestKind,
        begin: impl AsyncFnOnce() -> anyhow::Result<()>,
        is_done: impl AsyncFn(usize) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Worked> {
        let before = self.endpoint.request_count();
        self.chaos.iter().for_each(Chaos::resume);
        begin().await?;
        let began = Instant::now();
        let mut kills = 0;
        let mut peak = Peak::default();
        tokio::select! {
            done = self.until_done(kind, before, is_done) => done?,
            () = self.kill(&mut kills) => {}
            never = peak.watch(&self.executable) => match never {},
            failure = self.host.failed() => return Err(failure.into()),
        }
        let duration = began.elapsed();
        self.chaos.iter().for_each(Chaos::stop);
        self.quiet().await;
        let sent = self.sent(kind, before);
        Ok(Worked { duration, kills, sent, peak_memory: peak.kibibytes() })
    }

    async fn until_done(
        &self,
        kind: RequestKind,
        since: usize,
        is_done: impl AsyncFn(usize) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut progress = (0, Instant::now());
        loop {
            sleep(Duration::from_millis(200)).await;
            let sent = self.sent(kind, since);
            match is_done(sent).await {
                Ok(true) => return Ok(()),
                // Chaos refuses some of these queries.
                Err(error) if self.chaos.is_none() => return Err(error),
                Ok(false) | Err(_) => {}
            }
            ensure!(began.elapsed() < MAX_WORK_TIME, "the work does not end");
            if sent > progress.0 {
                progress = (sent, Instant::now());
            }
            if progress.1.elapsed() >= STUCK_TIME {
                bail!("the work is stuck after {sent} requests");
            }
        }
    }

    /// Returns the number of requests of a kind to the container, those that were refused included.
    fn sent(&self, kind: RequestKind, since: usize) -> usize {
        let requests = self.endpoint.requests_since(since);
        let of_kind = requests.iter().filter(|request| request.kind == kind);
        of_kind.filter(|request| request.container == self.subject.container).count()
    }

    /// Kills the handler each time that it has reached its life.
    async fn kill(&self, kills: &mut usize) {
        if self.kill_every.is_zero() {
            pending::<()>().await;
        }
        while self.host.crash_after(self.kill_every).await {
            *kills += 1;
        }
        // The handler has failed for good, which the host reports.
        pending::<()>().await;
    }

    /// Waits until only the change feeds are read.
    pub(super) async fn quiet(&self) {
        loop {
            let before = self.endpoint.request_count();
            sleep(QUIET_TIME).await;
            let requests = self.endpoint.requests_since(before);
            if requests.iter().all(|request| request.kind == RequestKind::ChangeFeed) {
                return;
            }
        }
    }
}

impl Worked {
    /// Returns the time, the memory and the divergences, for the end of a line and the lines after it.
    pub(super) fn in_words(&self, divergences: &[String]) -> String {
        let memory = self.peak_memory.map_or_else(
            || "memory unknown".to_owned(),
            |kibibytes| format!("at most {} MiB of memory", kibibytes / 1024),
        );
        let seconds = self.duration.as_secs_f64();
        let mut words = format!("{seconds:.1} s, {memory}, {} divergences", divergences.len());
        for line in divergences.iter().take(20) {
            words.push_str("\n  differs: ");
            words.push_str(line);
        }
        words
    }
}

fn app(cli: &RenameCli, subject: RunTarget, connection: &str) -> anyhow::Result<BuiltApp> {
    let mut app = handler::app(connection)?;
    app.settings.set("Background__RequestUnitsPerSecond", cli.request_units.to_string());
    if cli.alone {
        for name in subject.others {
            app.settings.set(format!("AzureWebJobs.{name}.Disabled"), "true");
        }
        app.functions = FunctionApp::load(&app.root, &app.settings)?;
    }
    Ok(app)
}
