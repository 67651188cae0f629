//! The removal of what a deleted post has left, from the delete to a new post under its id.

use std::{
    fmt,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use azure_data_cosmos::DatabaseClient;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use serde_json::json;
use tokio::time::sleep;
use tributary_local::cosmos::{CosmosEndpoint, RequestKind};
use tributary_simulator::{Api as _, Call};

use super::{
    Cli,
    author::{ANN, BEFORE},
    memory::Peak,
    run::{STUCK, Stage, kill, put_user, quiet},
};
use crate::run;

const POST: &str = "post-with-many-likes";

/// What came of a removal.
pub(super) struct Outcome {
    likes: usize,
    kills: usize,
    transactions: usize,
    duration: Duration,
    peak_memory: Option<u64>,
    divergences: Vec<String>,
}

/// Deletes a post with many likes.
pub(super) async fn run(cli: &Cli) -> anyhow::Result<Outcome> {
    let stage = Stage::start(cli, async |database| write_likes(database, cli.items).await).await?;
    let Stage { endpoint, database, host, api, .. } = &stage;
    put_user(api, ANN, BEFORE).await?;
    quiet(endpoint).await;

    let before = endpoint.request_count();
    let delete = Call::new(Method::DELETE, format!("/api/posts/{POST}"));
    let reply = api.send(delete).await.context("the host did not answer")?;
    ensure!(reply.status == 204, "the delete was refused: {}", reply.body);
    let begin = Instant::now();
    let (mut kills, mut peak) = (0, Peak::default());
    tokio::select! {
        removed = until_removed(endpoint, before, database) => removed?,
        () = kill(cli, host, &mut kills) => {}
        () = peak.watch(&stage.executable) => {}
        failure = host.failed() => return Err(failure.into()),
    }
    let duration = begin.elapsed();
    let transactions = transactions(endpoint, before);
    quiet(endpoint).await;
    let divergences = divergences(database, api).await?;
    stage.host.stop().await;
    let peak_memory = peak.kibibytes();
    Ok(Outcome { likes: cli.items, kills, transactions, duration, peak_memory, divergences })
}

/// Writes a post of Ann and its likes as the commands leave them, past the app.
async fn write_likes(database: &DatabaseClient, likes: usize) -> anyhow::Result<()> {
    let posts = database.container_client("posts", None).await?;
    let date = "2026-01-01T00:00:00.000Z";
    let post = json!({
        "type": "post", "id": POST, "postId": POST, "userId": ANN, "userUsername": BEFORE,
        "title": "Liked", "content": "A text.", "commentCount": 0, "likeCount": likes,
        "creationDate": date, "version": 1 + likes, "usernameVersion": 1,
    });
    let like = |n: usize| {
        json!({
            "type": "like", "id": format!("like:user-{n}"), "postId": POST,
            "userId": format!("user-{n}"), "userUsername": "A user", "creationDate": date,
            "usernameVersion": 1, "postVersion": 1 + n,
        })
    };
    let writes = std::iter::once(post).chain((0..likes).map(like)).map(async |item| {
        let id = item["id"].as_str().unwrap_or_default();
        posts.create_item(POST, id, &item, None).await?;
        Ok(())
    });
    stream::iter(writes).buffer_unordered(8).try_collect().await
}

/// How many transactions were sent to `posts`, those that were refused included.
fn transactions(endpoint: &CosmosEndpoint, since: usize) -> usize {
    let requests = endpoint.requests_since(since);
    let batches = requests.iter().filter(|request| request.kind == RequestKind::Batch);
    batches.filter(|request| request.container == "posts").count()
}

async fn until_removed(
    endpoint: &CosmosEndpoint,
    since: usize,
    database: &DatabaseClient,
) -> anyhow::Result<()> {
    let mut progress = (0, Instant::now());
    loop {
        sleep(Duration::from_millis(200)).await;
        let query = "SELECT TOP 1 c.id FROM c WHERE c.type = 'like'";
        if run::items(database, "posts", query.into()).await?.is_empty() {
            return Ok(());
        }
        let sent = transactions(endpoint, since);
        if sent > progress.0 {
            progress = (sent, Instant::now());
        }
        if progress.1.elapsed() >= STUCK {
            bail!("the removal is stuck after {sent} transactions");
        }
    }
}

/// What is wrong in the store, and with a new post under the id.
async fn divergences(
    database: &DatabaseClient,
    api: &crate::handler::HttpApi,
) -> anyhow::Result<Vec<String>> {
    let mut wrong = Vec::new();
    let left = run::items(database, "posts", "SELECT * FROM c".into()).await?;
    let left = left.iter().filter(|item| item["type"] != "deletedPost");
    wrong.extend(left.map(|item| format!("left behind: {item}")));
    for container in ["users", "feed"] {
        let query = "SELECT * FROM c WHERE IS_DEFINED(c.title)";
        let copies = run::items(database, container, query.into()).await?;
        wrong.extend(copies.iter().map(|copy| format!("{container}: a copy is left: {copy}")));
    }
    let letters = run::items(database, "dead-letters", "SELECT * FROM c".into()).await?;
    wrong.extend(letters.iter().map(|letter| format!("dead letter: {}", letter["reason"])));
    let put = Call::new(Method::PUT, format!("/api/posts/{POST}"));
    let post = json!({"userId": ANN, "title": "Anew", "content": "A text."});
    let reply = api.send(put.body(post)).await.context("the host did not answer")?;
    if reply.status != 201 || reply.body["likeCount"] != 0 {
        wrong.push(format!("a new post under the id: {} {}", reply.status, reply.body));
    }
    Ok(wrong)
}

impl Outcome {
    pub(super) fn is_right(&self) -> bool {
        self.divergences.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { likes, kills, transactions, .. } = self;
        let seconds = self.duration.as_secs_f64();
        write!(
            f,
            "{likes} likes removed, handler killed {kills} times: {transactions} transactions, \
             {seconds:.1} s, "
        )?;
        match self.peak_memory {
            Some(kibibytes) => write!(f, "at most {} MiB of memory, ", kibibytes / 1024)?,
            None => write!(f, "memory unknown, ")?,
        }
        write!(f, "{} divergences", self.divergences.len())?;
        for line in self.divergences.iter().take(20) {
            write!(f, "\n  differs: {line}")?;
        }
        Ok(())
    }
}
