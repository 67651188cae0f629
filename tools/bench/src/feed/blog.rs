//! An empty account, the handler on it, and posts and likes that are written past the app, in the form of the
//! commands.

use std::{ops::Range, process::Stdio, time::Instant};

use anyhow::{Context as _, ensure};
use azure_data_cosmos::{TransactionalBatch, clients::ContainerClient};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use tributary_local::client::Call;

use super::{Drained, OF_POSTS, OF_USERS};
use crate::{
    handler::MeasuredHandler,
    world::{BenchWorld, send_all, user},
};

/// The users. Each has written as many posts as the others, and liked as many.
pub(super) const USERS: usize = 20;

const N_WRITERS: usize = 16;

pub(super) struct FeedApp {
    pub(super) world: BenchWorld,
    pub(super) handler: MeasuredHandler,
    posts: ContainerClient,
}

impl FeedApp {
    /// Starts a handler on an empty account, and creates the users.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let mut world = BenchWorld::with_partitions(1).await?;
        world.app.settings.set("Rename__RequestUnitsPerSecond", "0");
        let handler = MeasuredHandler::ready_on(&world.app, None).await?;
        let posts = world.container("posts").await?;
        let app = Self { world, handler, posts };
        app.name_users("Author").await?;
        Ok(app)
    }

    /// Creates or renames the users.
    pub(super) async fn name_users(&self, name: &str) -> anyhow::Result<()> {
        let user = |n| user(&user_id(n), &format!("{name}{n}"));
        send_all(&self.handler, (0..USERS).map(user).collect()).await
    }

    /// Delivers all changes to the projections.
    pub(super) async fn drain_all(&self) -> anyhow::Result<usize> {
        self.world.drain(&self.handler, &[&OF_POSTS[..], &[OF_USERS]].concat()).await
    }

    /// Delivers all changes to a projection, and returns their number, the time, and the cost by the lines of
    /// the handler's log.
    pub(super) async fn drain(&mut self, function: &str) -> anyhow::Result<Drained> {
        let begin = Instant::now();
        let changes = self.world.drain(&self.handler, &[function]).await?;
        let mut drained = Drained { changes, took: begin.elapsed(), ..Drained::default() };
        let mut delivered = 0;
        while delivered < changes {
            let is_of = |line: &Value| line["function"] == function;
            let line = self.handler.line("Applied a batch of changes", is_of).await?;
            let figure = |name: &str| line[name].as_f64().unwrap_or_default();
            delivered += usize::try_from(line["delivered"].as_u64().unwrap_or_default())?;
            drained.requests += figure("store.requests");
            drained.request_units += figure("request_charge_ru");
        }
        Ok(drained)
    }

    /// Fails unless all copies are right by `tributary audit`, and there is no dead letter.
    pub(super) async fn check(&self) -> anyhow::Result<()> {
        self.drain_all().await?;
        let letters =
            self.handler.connection.send(&Call::get("/api/dead-letters"), "check").await?;
        ensure!(letters.json()["items"] == json!([]), "there are dead letters: {letters:?}");
        let app = &self.world.app;
        let output = tokio::process::Command::new(app.executable())
            .args(["audit", "--settle", "0"])
            .envs(app.settings.iter())
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

    pub(super) async fn write_posts(&self, numbers: Range<usize>) -> anyhow::Result<()> {
        self.write(numbers, |n| vec![post(n, 0)]).await
    }

    /// Adds a like to each post.
    pub(super) async fn like_posts(&self, numbers: Range<usize>) -> anyhow::Result<()> {
        self.write(numbers, |n| vec![post(n, 1), like(n)]).await
    }

    /// Writes the tombstones of deleted posts.
    pub(super) async fn delete_posts(&self, numbers: Range<usize>) -> anyhow::Result<()> {
        let tombstone = |n| {
            json!({
                "type": "deletedPost", "id": post_id(n), "postId": post_id(n),
                "userId": user_id(n % USERS), "version": 10, "ttl": 30 * 24 * 60 * 60,
            })
        };
        self.write(numbers, |n| vec![tombstone(n)]).await
    }

    /// Writes the items of each numbered post, in one transaction for each post.
    async fn write(
        &self,
        numbers: Range<usize>,
        items: impl Fn(usize) -> Vec<Value>,
    ) -> anyhow::Result<()> {
        let writes = numbers.map(|n| {
            let items = items(n);
            async move {
                let batch = TransactionalBatch::new(post_id(n));
                let batch =
                    items.iter().try_fold(batch, |batch, item| batch.upsert_item(item, None))?;
                let answer =
                    self.posts.execute_transactional_batch(batch, None).await?.into_model()?;
                let refused = answer.results().iter().any(|result| !result.is_success());
                ensure!(!refused, "the items of post {n} were refused");
                Ok(())
            }
        });
        stream::iter(writes).buffer_unordered(N_WRITERS).try_collect().await
    }
}

pub(super) fn user_id(n: usize) -> String {
    format!("user-{n}")
}

pub(super) fn post_id(n: usize) -> String {
    format!("post-{n:06}")
}

/// Returns a post of some 1 KB, with a number of likes.
fn post(n: usize, likes: usize) -> Value {
    json!({
        "type": "post", "id": post_id(n), "postId": post_id(n), "userId": user_id(n % USERS),
        "userUsername": format!("Author{}", n % USERS), "title": format!("Post {n}"),
        "content": "A text of some length. ".repeat(40), "commentCount": 0, "likeCount": likes,
        "creationDate": date(n), "version": 1 + likes, "usernameVersion": 1,
    })
}

/// Returns the like of the post by the user after its author.
fn like(n: usize) -> Value {
    let user = (n + 1) % USERS;
    json!({
        "type": "like", "id": format!("like:{}", user_id(user)), "postId": post_id(n),
        "userId": user_id(user), "userUsername": format!("Author{user}"),
        "creationDate": date(n), "usernameVersion": 1, "postVersion": 2,
    })
}

fn date(n: usize) -> String {
    let hour = n / 3_600 % 24;
    let minute = n / 60 % 60;
    let second = n % 60;
    format!("2026-01-01T{hour:02}:{minute:02}:{second:02}.000Z")
}
