//! The removal of a deleted post's remains, from the delete to a new post under its id. Another client
//! deletes posts meanwhile, whose likes must not wait for those of the first.

use std::{
    cell::Cell,
    fmt,
    future::pending,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use azure_data_cosmos::DatabaseClient;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use tributary_local::client::Call;
use tributary_local::cosmos::RequestKind;
use tributary_simulator::{Api as _, items};

use super::{
    RenameCli,
    author::{ANN, BEFORE, BOB},
    stage::{POSTS, Stage, Worked},
};
use crate::handler::HttpApi;

const POST: &str = "post-with-many-likes";

/// The id of the first like of each post.
const LIKE: &str = "like:user-0";

/// The number of likes that one transaction removes.
const LIKES_PER_TRANSACTION: usize = 50;

/// The longest time that the like of another deleted post may stay: a slice takes 15 seconds, and then
/// the other post is next.
const MAX_LIKE_WAIT: Duration = Duration::from_secs(25);

/// The outcome of a removal.
pub(super) struct RemovalOutcome {
    likes: usize,
    worked: Worked,
    others: usize,
    /// The longest time that the like of another post has stayed.
    waited: Duration,
    divergences: Vec<String>,
}

/// Other posts that are deleted while the likes of the first are removed.
#[derive(Default)]
struct Others {
    deleted: usize,
    longest: Duration,
    /// The start of the wait for the like of the last one.
    waits: Option<Instant>,
}

/// Deletes a post with many likes.
pub(super) async fn run(cli: &RenameCli) -> anyhow::Result<RemovalOutcome> {
    let likes = cli.items.unwrap_or(5_000);
    ensure!(likes >= 10, "--items must be at least 10");
    let write = async |database: &DatabaseClient| write_post(database, POST, ANN, likes).await;
    let stage = Stage::start(cli, POSTS, None, write).await?;
    let Stage { database, api, .. } = &stage;
    stage.put_user(ANN, BEFORE).await?;
    stage.put_user(BOB, BOB).await?;
    stage.quiet().await;

    let begin = async || {
        let reply = api.send(delete(POST)).await.context("the host did not answer")?;
        ensure!(reply.status == 204, "the delete was refused: {}", reply.body);
        Ok(())
    };
    let done = Cell::new(false);
    let is_done = async |sent| {
        let query =
            format!("SELECT TOP 1 c.id FROM c WHERE c.postId = '{POST}' AND c.type = 'like'");
        // A query costs the store time, since it reads all likes: only if the end is possible.
        let may_be = sent >= likes / LIKES_PER_TRANSACTION;
        done.set(may_be && items(database, "posts", query.as_str()).await?.is_empty());
        Ok(done.get())
    };
    let mut others = Others::default();
    let worked = tokio::select! {
        worked = stage.work(RequestKind::Batch, begin, is_done) => worked?,
        failure = others.come_and_go(&stage, &done) => return Err(failure),
    };
    let waited = others.waited();
    let mut divergences = divergences(database, api).await?;
    // A killed handler restarts its slice.
    if cli.kill_every == 0 && waited > MAX_LIKE_WAIT {
        divergences.push("the like of another deleted post stayed for too long".to_owned());
    }
    stage.host.stop().await;
    Ok(RemovalOutcome { likes, worked, others: others.deleted, waited, divergences })
}

fn delete(post_id: &str) -> Call {
    Call::new(Method::DELETE, format!("/api/posts/{post_id}"))
}

impl Others {
    /// Writes a post with a like, deletes it, waits until the like is gone, and repeats that until the
    /// work is done. Returns only after a failure.
    async fn come_and_go(&mut self, stage: &Stage, done: &Cell<bool>) -> anyhow::Error {
        while !done.get() {
            if let Err(error) = self.come_and_go_once(&stage.database, &stage.api).await {
                return error;
            }
        }
        pending().await
    }

    async fn come_and_go_once(
        &mut self,
        database: &DatabaseClient,
        api: &HttpApi,
    ) -> anyhow::Result<()> {
        let pause = Duration::from_millis(200);
        let post_id = format!("other-post-{}", self.deleted);
        write_post(database, &post_id, BOB, 1).await?;
        // The handler may be killed before its answer.
        while api.send(delete(&post_id)).await.is_none_or(|reply| reply.status != 204) {
            sleep(pause).await;
        }
        self.deleted += 1;
        let since = *self.waits.insert(Instant::now());
        let posts = database.container_client("posts", None).await?;
        while posts.read_item(&post_id, LIKE, None).await.is_ok() {
            sleep(pause).await;
        }
        self.waits = None;
        self.longest = self.longest.max(since.elapsed());
        Ok(())
    }

    /// Returns the longest time that a like has stayed, the last one included.
    fn waited(&self) -> Duration {
        self.waits.map_or(self.longest, |since| self.longest.max(since.elapsed()))
    }
}

/// Writes a post and its likes in the form of the commands, past the app.
async fn write_post(
    database: &DatabaseClient,
    id: &str,
    author: &str,
    likes: usize,
) -> anyhow::Result<()> {
    let posts = database.container_client("posts", None).await?;
    let date = "2026-01-01T00:00:00.000Z";
    let post = json!({
        "type": "post", "id": id, "postId": id, "userId": author, "userUsername": BEFORE,
        "title": "Liked", "content": "A text.", "commentCount": 0, "likeCount": likes,
        "creationDate": date, "version": 1 + likes, "usernameVersion": 1,
    });
    let like = |n: usize| {
        json!({
            "type": "like", "id": format!("like:user-{n}"), "postId": id,
            "userId": format!("user-{n}"), "userUsername": "A user", "creationDate": date,
            "usernameVersion": 1, "postVersion": 1 + n,
        })
    };
    let writes = std::iter::once(post).chain((0..likes).map(like)).map(async |item: Value| {
        let item_id = item["id"].as_str().unwrap_or_default();
        posts.create_item(id.to_owned(), item_id, &item, None).await?;
        Ok(())
    });
    stream::iter(writes).buffer_unordered(8).try_collect().await
}

/// Returns the faults in the store, and with a new post under the id.
async fn divergences(database: &DatabaseClient, api: &HttpApi) -> anyhow::Result<Vec<String>> {
    let mut wrong = Vec::new();
    let query = format!("SELECT * FROM c WHERE c.postId = '{POST}'");
    let left = items(database, "posts", query.as_str()).await?;
    let left = left.iter().filter(|item| item["type"] != "deletedPost");
    wrong.extend(left.map(|item| format!("left behind: {item}")));
    for container in ["users", "feed"] {
        let query = format!("SELECT * FROM c WHERE IS_DEFINED(c.title) AND c.userId = '{ANN}'");
        let copies = items(database, container, query.as_str()).await?;
        wrong.extend(copies.iter().map(|copy| format!("{container}: a copy remains: {copy}")));
    }
    let letters = items(database, "dead-letters", "SELECT * FROM c").await?;
    wrong.extend(letters.iter().map(|letter| format!("dead letter: {}", letter["reason"])));
    let put = Call::new(Method::PUT, format!("/api/posts/{POST}"));
    let post = json!({"userId": ANN, "title": "Anew", "content": "A text."});
    let reply = api.send(put.json(post)).await.context("the host did not answer")?;
    if reply.status != 201 || reply.body["likeCount"] != 0 {
        wrong.push(format!("a new post under the id: {} {}", reply.status, reply.body));
    }
    Ok(wrong)
}

impl RemovalOutcome {
    pub(super) fn is_right(&self) -> bool {
        self.divergences.is_empty()
    }
}

impl fmt::Display for RemovalOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Worked { kills, sent, .. } = &self.worked;
        write!(
            f,
            "{} likes removed, handler killed {kills} times: {sent} transactions, others waited at most \
             {:.1} s ({} posts), {}",
            self.likes,
            self.waited.as_secs_f64(),
            self.others,
            self.worked.in_words(&self.divergences)
        )
    }
}
