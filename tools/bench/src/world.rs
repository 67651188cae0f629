//! The local endpoint with the app's containers, and a small blog in them.

use std::{path::Path, process::Stdio, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use azure_data_cosmos::{CosmosClient, clients::ContainerClient};
use futures::future::try_join_all;
use http::Method;
use serde_json::json;
use tokio::process::Command;
use tributary_local::{
    client::Call,
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer},
    host::{
        BuiltApp, Console, FeedOptions, FeedPump, Function, FunctionTrigger, HttpInvoker, Invoker,
    },
};

use crate::handler::{Connection, MeasuredHandler};

const DATABASE: &str = "tributary";
/// The projections that read `posts`.
pub(crate) const OF_POSTS: [&str; 3] = ["PostCopiesInUsers", "HomeFeed", "PostsIntegrity"];
/// Authors `u0`, `u1`, …, which also comment on and like each other's posts.
pub(crate) const USERS: usize = 20;
/// Users `r0`, `r1`, … that have no items yet.
pub(crate) const READERS: usize = 100;
/// Posts `p0`, `p1`, …: enough to fill the feed.
pub(crate) const POSTS: usize = 120;
const REACTIONS: usize = 10;
/// Physical partitions of each container: as many as one of some size has.
const PARTITIONS: u32 = 8;
pub(crate) const WRITERS: usize = 16;

pub(crate) struct BenchWorld {
    pub(crate) app: BuiltApp,
    /// They serve until they are dropped.
    _servers: (RunningServer, CosmosEndpoint),
    client: CosmosClient,
}

impl BenchWorld {
    pub(crate) async fn with_partitions(partitions: u32) -> anyhow::Result<Self> {
        let options = EndpointOptions { partitions, ..EndpointOptions::default() };
        let endpoint = CosmosEndpoint::new(options)?;
        let server = endpoint.serve(0).await?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let app = BuiltApp::load(&root, &server.connection_string())?;
        let containers = ContainersFile::read(app.root.join("infra/containers.json"))?;
        endpoint.provision(DATABASE, &containers).await?;
        let client = endpoint.client().await?;
        Ok(Self { app, _servers: (server, endpoint), client })
    }

    /// Creates the blog that this module's constants describe, through the API and with all copies.
    pub(crate) async fn with_blog() -> anyhow::Result<Self> {
        eprintln!("Making {POSTS} posts with {REACTIONS} comments and likes each");
        let world = Self::with_partitions(PARTITIONS).await?;
        let handler = MeasuredHandler::ready_on(&world.app).await?;
        let posts = (0..POSTS).map(|number| post(number, "A title of a usual length"));
        for step in [users(), posts.collect(), reactions()] {
            send_all(&handler, step).await?;
        }
        world.drain(&handler, &[]).await?;
        handler.stop().await?;
        Ok(world)
    }

    pub(crate) async fn container(&self, id: &str) -> anyhow::Result<ContainerClient> {
        Ok(self.client.database_client(DATABASE).container_client(id, None).await?)
    }

    pub(crate) fn pump(
        &self,
        function: &Function,
        invoker: Arc<dyn Invoker>,
        poll_delay: Option<Duration>,
    ) -> anyhow::Result<FeedPump> {
        let console = Console::silent();
        let options = FeedOptions { console, poll_delay, ..FeedOptions::default() };
        Ok(FeedPump::new(self.client.clone(), function, invoker, options)?)
    }

    /// Delivers all changes to these triggers, or to all, until there are no more. Returns their number.
    pub(crate) async fn drain(
        &self,
        handler: &MeasuredHandler,
        names: &[&str],
    ) -> anyhow::Result<usize> {
        let invoker = Arc::new(HttpInvoker::new(format!("http://{}", handler.address)));
        let is_drained = |function: &&Function| {
            let is_trigger = matches!(function.trigger, FunctionTrigger::Cosmos(_));
            is_trigger && (names.is_empty() || names.contains(&&*function.name))
        };
        let functions = self.app.functions.functions().iter().filter(is_drained);
        let pumps = functions.map(|function| self.pump(function, invoker.clone(), None));
        let pumps = pumps.collect::<anyhow::Result<Vec<_>>>()?;
        let mut changes = 0;
        loop {
            let more: usize = try_join_all(pumps.iter().map(FeedPump::drain)).await?.iter().sum();
            changes += more;
            // A write of one projection may be a change for another.
            if more == 0 {
                return Ok(changes);
            }
        }
    }

    /// Delivers all changes. Fails unless `tributary audit` finds nothing, and there is no dead letter.
    pub(crate) async fn check(&self, handler: &MeasuredHandler) -> anyhow::Result<()> {
        self.drain(handler, &[]).await?;
        let letters = handler.connection.send(&Call::get("/api/dead-letters"), "check").await?;
        ensure!(letters.json()["items"] == json!([]), "there are dead letters: {letters:?}");
        let output = Command::new(self.app.executable())
            .args(["audit", "--settle", "0"])
            .envs(self.app.settings.iter())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("the audit cannot be started")?;
        let said = [&*output.stdout, &*output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        ensure!(output.status.success(), "the audit fails or has findings:\n{said}");
        Ok(())
    }
}

fn users() -> Vec<Call> {
    let authors = (0..USERS).map(|n| user(&format!("u{n}"), &format!("Author {n}")));
    authors.chain((0..READERS).map(|n| user(&format!("r{n}"), &format!("Reader {n}")))).collect()
}

pub(crate) fn user(id: &str, name: &str) -> Call {
    Call::put(format!("/api/users/{id}"), json!({"username": name}))
}

pub(crate) fn post(number: usize, title: &str) -> Call {
    let content = "Small streams feed the river that people read from. ".repeat(20);
    let body = json!({"userId": author(number), "title": title, "content": content});
    Call::put(format!("/api/posts/p{number}"), body)
}

pub(crate) fn author(post: usize) -> String {
    format!("u{}", post % USERS)
}

pub(crate) fn comment(post: usize, user: &str) -> Call {
    let body = json!({"userId": user, "content": "A comment of a usual length, not too long."});
    Call::post(format!("/api/posts/p{post}/comments"), body)
}

pub(crate) fn like(post: usize, user: &str) -> Call {
    Call::new(Method::PUT, format!("/api/posts/p{post}/likes/{user}"))
}

fn reactions() -> Vec<Call> {
    (0..REACTIONS)
        .flat_map(|user| (0..POSTS).map(move |number| (number, format!("u{user}"))))
        .flat_map(|(number, user)| [comment(number, &user), like(number, &user)])
        .collect()
}

pub(crate) async fn send_all(handler: &MeasuredHandler, calls: Vec<Call>) -> anyhow::Result<()> {
    let share = calls.len().div_ceil(WRITERS).max(1);
    let loaders = calls.chunks(share).map(async |calls| {
        let connection = Connection::new(handler.address)?;
        for call in calls {
            let reply = connection.send(call, "load").await?;
            let status = reply.status;
            ensure!(status.is_success(), "{} was answered {status}: {}", call.path, reply.text());
        }
        Ok(())
    });
    try_join_all(loaders).await.map(drop).context("the data cannot be made")
}
