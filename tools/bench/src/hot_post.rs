//! Many clients that like one post at the same time, or comment on it: with group commit, and with each
//! command alone (read, transaction, retry), where each client has an instance of the app.
//!
//! The app runs in this process and is called through its router; the store is the local endpoint, in
//! this process too, over HTTP on the loopback interface. Every row has a new account with its
//! signed-up users and one post. Each client sends its commands one after the other, every like from
//! another user, until the time or the users are used up. The commands under way at that moment are cut
//! off: they count with their duration, and not as done.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use futures::{TryStreamExt, future::try_join_all, stream};
use serde_json::{Value, json};
use tokio::time::timeout_at;
use tower::ServiceExt;
use tributary_functions::{
    app,
    config::{Config, Settings},
    cosmos::{Cosmos, metered},
};
use tributary_local::cosmos::{
    ContainersFile, CosmosEndpoint, EndpointOptions, RequestKind, RunningServer,
};
use tributary_tools::{
    Sorted, Table,
    figures::{each, milliseconds, number, rate},
};

/// The size of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct HotPostOptions {
    /// The number of likers, or commenters, at once.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16, 64, 256])]
    at_once: Vec<usize>,
    /// The number of users, each for one command.
    #[arg(long, default_value_t = 1_024)]
    commands: usize,
    /// The time for which commands are sent, at most.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// The containers of the account.
    #[arg(long, default_value = "infra/containers.json")]
    containers: PathBuf,
}

/// The number of likers at which the two ways are compared.
const COMPARED_AT: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReactionKind {
    Like,
    Comment,
}

/// The counts of a client.
#[derive(Debug, Default)]
struct ClientCounts {
    done: usize,
    failed: usize,
    /// The latencies, also of the commands that were cut off.
    latencies: Vec<Duration>,
}

/// A row of the table.
struct HotPostRow {
    elapsed: Duration,
    met: ClientCounts,
    requests: usize,
    transactions: usize,
    request_units: f64,
}

pub(crate) async fn run(options: &HotPostOptions) -> anyhow::Result<()> {
    ensure!(
        options.commands > 0 && options.at_once.iter().all(|&n| n > 0),
        "--commands and --at-once are at least 1"
    );
    let containers = ContainersFile::read(&options.containers)?;
    let mut table = Table::new([
        "what",
        "at once",
        "way",
        "done/s",
        "store requests, each",
        "transactions, each",
        "request units, each",
        "p50, ms",
        "p99, ms",
        "failed",
    ]);
    let mut ratio = None;
    for (kind, name) in [(ReactionKind::Like, "like"), (ReactionKind::Comment, "comment")] {
        for &at_once in &options.at_once {
            let mut rates = Vec::new();
            for (way, instances) in [("together", 1), ("alone", at_once)] {
                eprintln!("{name}, {at_once} at once, {way}");
                let world = HotPostWorld::new(&containers, instances, options.commands).await?;
                let measured = world.measure(kind, at_once, options).await?;
                rates.push(number(measured.met.done) / measured.elapsed.as_secs_f64());
                let cells = [name.to_owned(), at_once.to_string(), way.to_owned()];
                table.row(cells.into_iter().chain(measured.cells()));
            }
            if (kind, at_once) == (ReactionKind::Like, COMPARED_AT) {
                ratio = Some(rates[0] / rates[1]);
            }
        }
    }
    println!("{table}");
    println!("Every count of every post is equal to the number of its likes or comments.");
    if let Some(ratio) = ratio {
        println!(
            "With {COMPARED_AT} likers at once, group commit carries out {ratio:.1} times the likes \
             a second of read, transaction, again."
        );
    }
    for (way, instances) in [("together", 1), ("alone", COMPARED_AT)] {
        let world = HotPostWorld::new(&containers, instances, COMPARED_AT).await?;
        let edits = world.edit_beside_likers(options).await?;
        let latencies = Sorted::from(edits.latencies);
        let [p50, slowest] = [latencies.percentile(50), latencies.max()].map(milliseconds);
        println!(
            "An author that edits the post beside {COMPARED_AT} likers that also remove their likes, {way}: \
             {} edits, p50 {p50} ms, slowest {slowest} ms, {} failed.",
            edits.done, edits.failed
        );
    }
    Ok(())
}

impl ClientCounts {
    /// Sends a command; returns `None` if the time is up before its answer.
    async fn send(
        &mut self,
        deadline: Instant,
        command: impl Future<Output = anyhow::Result<StatusCode>>,
    ) -> anyhow::Result<()> {
        let started = Instant::now();
        let answer = timeout_at(deadline.into(), command).await;
        self.latencies.push(started.elapsed());
        if let Ok(status) = answer {
            let done = status?.is_success();
            self.done += usize::from(done);
            self.failed += usize::from(!done);
        }
        Ok(())
    }
}

impl HotPostRow {
    /// Returns the numbers of a row.
    fn cells(self) -> [String; 7] {
        let ClientCounts { done, failed, latencies } = self.met;
        let latencies = Sorted::from(latencies);
        [
            rate(done, self.elapsed),
            each(number(self.requests), done, 2),
            each(number(self.transactions), done, 2),
            each(self.request_units, done, 1),
            milliseconds(latencies.percentile(50)),
            milliseconds(latencies.percentile(99)),
            failed.to_string(),
        ]
    }
}

/// An app on a new account, with a post and users.
struct HotPostWorld {
    endpoint: CosmosEndpoint,
    /// The routers of the instances. Commands on one instance share a group; each instance has its own.
    instances: Vec<Router>,
    _store: RunningServer,
}

impl HotPostWorld {
    async fn new(
        containers: &ContainersFile,
        instances: usize,
        users: usize,
    ) -> anyhow::Result<Arc<Self>> {
        let endpoint = CosmosEndpoint::in_process(EndpointOptions {
            expiry_interval: None,
            keep_requests: true,
            ..EndpointOptions::default()
        })?;
        endpoint.provision("tributary", containers).await?;
        let store = endpoint.serve(0).await?;
        let connection = store.connection_string();
        let config = Config::read(Settings::new(&|name| {
            (name == "CosmosConnection").then(|| connection.clone())
        }))?;
        let cosmos: Arc<Cosmos> = config.cosmos.into();
        let instance = || -> anyhow::Result<Router> {
            let app =
                tributary::program().build(&cosmos, app::AppOptions::default(), Settings::NONE)?;
            Ok(app.into_handler().into_router()?)
        };
        let instances = (0..instances).map(|_| instance()).collect::<anyhow::Result<_>>()?;
        let world = Arc::new(Self { endpoint, instances, _store: store });
        let sign_up = async |user| {
            let body = json!({"username": format!("User {user}")});
            let (status, _) =
                world.send(0, "PUT", &format!("/api/users/u{user}"), Some(body)).await?;
            ensure!(status == StatusCode::CREATED, "a user cannot be created: {status}");
            Ok(())
        };
        stream::iter((0..users).map(Ok)).try_for_each_concurrent(16, sign_up).await?;
        let body = json!({"userId": "u0", "title": "Hot", "content": "C".repeat(1_000)});
        let (status, answer) = world.send(0, "PUT", "/api/posts/hot", Some(body)).await?;
        ensure!(status == StatusCode::CREATED, "the post cannot be created: {status} {answer}");
        Ok(world)
    }

    /// Lets `at_once` clients send commands.
    async fn measure(
        self: &Arc<Self>,
        kind: ReactionKind,
        at_once: usize,
        options: &HotPostOptions,
    ) -> anyhow::Result<HotPostRow> {
        let n_before = self.endpoint.request_count();
        let started = Instant::now();
        let deadline = started + Duration::from_secs(options.seconds);
        let commands = options.commands;
        let clients = (0..at_once).map(|client| {
            let world = Arc::clone(self);
            // The meter around it counts its cost.
            tokio::spawn(metered(async move {
                let mut met = ClientCounts::default();
                for user in (client..commands).step_by(at_once) {
                    if Instant::now() >= deadline {
                        break;
                    }
                    met.send(deadline, world.command(kind, client, user)).await?;
                }
                anyhow::Ok(met)
            }))
        });
        let clients = try_join_all(clients).await?;
        let elapsed = started.elapsed();
        self.come_to_rest().await;
        let log = self.endpoint.requests_since(n_before);
        let mut met = ClientCounts::default();
        let mut request_units = 0.0;
        for (client, meter) in clients {
            let client = client?;
            met.done += client.done;
            met.failed += client.failed;
            met.latencies.extend(client.latencies);
            request_units += meter.request_units();
        }
        self.check(kind, met.done).await?;
        Ok(HotPostRow {
            elapsed,
            met,
            requests: log.len(),
            transactions: log.iter().filter(|one| one.kind == RequestKind::Batch).count(),
            request_units,
        })
    }

    /// Lets an author edit the post repeatedly while others like it and remove their likes.
    async fn edit_beside_likers(
        self: &Arc<Self>,
        options: &HotPostOptions,
    ) -> anyhow::Result<ClientCounts> {
        let deadline = Instant::now() + Duration::from_secs(options.seconds);
        let likers: Vec<_> = (0..COMPARED_AT)
            .map(|user| {
                let world = Arc::clone(self);
                tokio::spawn(async move {
                    let path = format!("/api/posts/hot/likes/u{user}");
                    while Instant::now() < deadline {
                        world.send(user, "PUT", &path, None).await?;
                        world.send(user, "DELETE", &path, None).await?;
                    }
                    anyhow::Ok(())
                })
            })
            .collect();
        let mut met = ClientCounts::default();
        while Instant::now() < deadline {
            let title = format!("Edited {} times", met.latencies.len());
            let body = json!({"userId": "u0", "title": title, "content": "C".repeat(1_000)});
            let edit = async { Ok(self.send(0, "PUT", "/api/posts/hot", Some(body)).await?.0) };
            met.send(deadline, edit).await?;
        }
        for liker in likers {
            liker.await??;
        }
        self.check(ReactionKind::Like, 0).await?;
        Ok(met)
    }

    /// Waits until the commands that were cut off have ended in the store.
    async fn come_to_rest(&self) {
        let mut count = None;
        while count.replace(self.endpoint.request_count()) != Some(self.endpoint.request_count()) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn command(
        &self,
        kind: ReactionKind,
        client: usize,
        user: usize,
    ) -> anyhow::Result<StatusCode> {
        let answer = match kind {
            ReactionKind::Like => {
                self.send(client, "PUT", &format!("/api/posts/hot/likes/u{user}"), None).await
            }
            ReactionKind::Comment => {
                let body = json!({"userId": format!("u{user}"), "content": "Well."});
                self.send(client, "POST", "/api/posts/hot/comments", Some(body)).await
            }
        };
        Ok(answer?.0)
    }

    /// Compares the post's count with its list, which has all acknowledged items.
    async fn check(&self, kind: ReactionKind, acknowledged: usize) -> anyhow::Result<()> {
        let (list, count) = match kind {
            ReactionKind::Like => ("likes", "likeCount"),
            ReactionKind::Comment => ("comments", "commentCount"),
        };
        let (_, post) = self.send(0, "GET", "/api/posts/hot", None).await?;
        let mut listed = 0;
        let mut cursor = String::new();
        loop {
            let path = format!("/api/posts/hot/{list}?limit=100{cursor}");
            let (status, page) = self.send(0, "GET", &path, None).await?;
            ensure!(status == StatusCode::OK, "{path}: {status}");
            listed += page["items"].as_array().map_or(0, Vec::len);
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        ensure!(
            post[count] == listed && listed >= acknowledged,
            "the post counts {} {list}, the list has {listed}, acknowledged were {acknowledged}",
            post[count]
        );
        Ok(())
    }

    async fn send(
        &self,
        client: usize,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<(StatusCode, Value)> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let instance = self.instances[client % self.instances.len()].clone();
        let response = instance.oneshot(request.body(body)?).await?;
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await?;
        let answer = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? };
        Ok((parts.status, answer))
    }
}
