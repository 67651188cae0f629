//! The local endpoint with the app's containers, and a small blog in them.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use http::Method;
use serde_json::{Value, json};
use tributary_local::client::Call;
use tributary_local::{
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer},
    host::{BuiltApp, Console, FeedOptions, FeedPump, FunctionTrigger, HttpInvoker},
};

use crate::{handler::MeasuredHandler, http::Connection};

const DATABASE: &str = "tributary";
/// Authors `u0`, `u1`, …, which also comment on and like each other's posts.
pub(crate) const USERS: usize = 20;
/// Users `r0`, `r1`, … that have no items yet.
pub(crate) const READERS: usize = 100;
/// Posts `p0`, `p1`, …: enough to fill the feed.
pub(crate) const POSTS: usize = 120;
/// Comments, and likes, of each post.
const REACTIONS: usize = 10;
/// Physical partitions of each container. The local store scans the items of one for a query, and
/// copies them for a transaction: with several it leaves more of the machine to the handler.
const PARTITIONS: u32 = 8;
/// The number of connections that create the blog at the same time.
const N_LOADERS: usize = 8;

/// An account with the app's containers, over TCP.
pub(crate) struct BenchWorld {
    pub(crate) app: BuiltApp,
    /// It serves until it is dropped.
    _server: RunningServer,
    endpoint: CosmosEndpoint,
}

impl BenchWorld {
    /// Creates an empty account: no user, no post.
    pub(crate) async fn empty() -> anyhow::Result<Self> {
        Self::with_partitions(PARTITIONS).await
    }

    /// Creates an empty account whose containers have `partitions` physical partitions.
    pub(crate) async fn with_partitions(partitions: u32) -> anyhow::Result<Self> {
        let endpoint = CosmosEndpoint::in_process(EndpointOptions {
            partitions,
            ..EndpointOptions::default()
        })?;
        let server = endpoint.serve(0).await?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let app = BuiltApp::load(&root, &server.connection_string())?;
        let containers = ContainersFile::read(app.root.join("infra/containers.json"))?;
        endpoint.provision(DATABASE, &containers).await?;
        Ok(Self { app, _server: server, endpoint })
    }

    /// Creates the blog that this module's constants describe.
    pub(crate) async fn with_blog() -> anyhow::Result<Self> {
        eprintln!("Making {POSTS} posts with {REACTIONS} comments and likes each");
        Self::with(vec![users(), posts(), reactions()]).await
    }

    /// Creates an account through the API by these steps, one after the other, with all copies.
    pub(crate) async fn with(steps: Vec<Vec<Call>>) -> anyhow::Result<Self> {
        let world = Self::empty().await?;
        let mut handler = MeasuredHandler::start(&world.app, &world.app.executable(), |_| ())?;
        handler.ready().await?;
        for step in steps {
            send_all(&handler, step).await?;
        }
        world.settle(&handler).await?;
        handler.stop().await?;
        Ok(world)
    }

    /// Writes an item past the app.
    pub(crate) async fn write(
        &self,
        container: &str,
        id: &str,
        item: &Value,
    ) -> anyhow::Result<()> {
        let database = self.endpoint.client().await?.database_client(DATABASE);
        let container = database.container_client(container, None).await?;
        container.upsert_item(id.to_owned(), id, item, None).await?;
        Ok(())
    }

    /// Delivers all changes to all triggers, until there are no more.
    pub(crate) async fn settle(&self, handler: &MeasuredHandler) -> anyhow::Result<()> {
        let client = self.endpoint.client().await?;
        let invoker = Arc::new(HttpInvoker::new(format!("http://{}", handler.address)));
        let options = FeedOptions { console: Console::silent(), ..FeedOptions::default() };
        let functions = self.app.functions.functions().iter();
        let pumps: Vec<FeedPump> = functions
            .filter(|function| matches!(function.trigger, FunctionTrigger::Cosmos(_)))
            .map(|function| {
                FeedPump::new(client.clone(), function, invoker.clone(), options.clone())
            })
            .collect::<Result<_, _>>()?;
        loop {
            let delivered = try_join_all(pumps.iter().map(FeedPump::drain)).await?;
            if delivered.iter().sum::<usize>() == 0 {
                return Ok(());
            }
        }
    }
}

fn users() -> Vec<Call> {
    let authors = (0..USERS).map(|number| (format!("u{number}"), format!("Author {number}")));
    let readers = (0..READERS).map(|number| (format!("r{number}"), format!("Reader {number}")));
    authors
        .chain(readers)
        .map(|(id, name)| {
            Call::new(Method::PUT, format!("/api/users/{id}")).json(json!({"username": name}))
        })
        .collect()
}

fn posts() -> Vec<Call> {
    (0..POSTS).map(|number| post(number, "A title of a usual length")).collect()
}

/// Returns the request that writes the post with this number, or edits it: C2.
pub(crate) fn post(number: usize, title: &str) -> Call {
    let content = "Small streams feed the river that people read from. ".repeat(20);
    let body = json!({"userId": author(number), "title": title, "content": content});
    Call::new(Method::PUT, format!("/api/posts/p{number}")).json(body)
}

/// Returns the author of the post with this number.
pub(crate) fn author(post: usize) -> String {
    format!("u{}", post % USERS)
}

/// Returns a comment on a post: C3.
pub(crate) fn comment(post: usize, user: &str) -> Call {
    let body = json!({"userId": user, "content": "A comment of a usual length, not too long."});
    Call::new(Method::POST, format!("/api/posts/p{post}/comments")).json(body)
}

/// Returns a like of a post: C4.
pub(crate) fn like(post: usize, user: &str) -> Call {
    Call::new(Method::PUT, format!("/api/posts/p{post}/likes/{user}"))
}

fn reactions() -> Vec<Call> {
    (0..REACTIONS)
        .flat_map(|user| (0..POSTS).map(move |number| (number, format!("u{user}"))))
        .flat_map(|(number, user)| [comment(number, &user), like(number, &user)])
        .collect()
}

/// Sends requests over several connections at the same time.
pub(crate) async fn send_all(handler: &MeasuredHandler, calls: Vec<Call>) -> anyhow::Result<()> {
    let share = calls.len().div_ceil(N_LOADERS);
    let loaders = calls.chunks(share).map(async |calls| {
        let connection = Connection::new(handler.address)?;
        for call in calls {
            let reply = connection.send(call, "load").await?;
            let status = reply.status;
            ensure!(status.is_success(), "{} was answered {status}: {}", call.path, reply.text());
        }
        Ok(())
    });
    try_join_all(loaders).await.map(drop).context("the blog cannot be made")
}
