//! The removal of what a deleted post has left, from the delete to a new post under its id.

use std::fmt;

use anyhow::{Context as _, ensure};
use azure_data_cosmos::DatabaseClient;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use serde_json::json;
use tributary_local::cosmos::RequestKind;
use tributary_simulator::{Api as _, items};
use tributary_tools::Call;

use super::{
    Cli,
    author::{ANN, BEFORE},
    stage::{POSTS, Stage, Worked},
};
use crate::handler::HttpApi;

const POST: &str = "post-with-many-likes";

/// What came of a removal.
pub(super) struct Outcome {
    likes: usize,
    worked: Worked,
    divergences: Vec<String>,
}

/// Deletes a post with many likes.
pub(super) async fn run(cli: &Cli) -> anyhow::Result<Outcome> {
    let likes = cli.items.unwrap_or(20_000);
    ensure!(likes >= 10, "--items must be at least 10");
    let write = async |database: &DatabaseClient| write_likes(database, likes).await;
    let stage = Stage::start(cli, POSTS, None, write).await?;
    let Stage { database, api, .. } = &stage;
    stage.put_user(ANN, BEFORE).await?;
    stage.quiet().await;

    let delete = async || {
        let delete = Call::new(Method::DELETE, format!("/api/posts/{POST}"));
        let reply = api.send(delete).await.context("the host did not answer")?;
        ensure!(reply.status == 204, "the delete was refused: {}", reply.body);
        Ok(())
    };
    let is_done = async |_| {
        let query = "SELECT TOP 1 c.id FROM c WHERE c.type = 'like'";
        Ok(items(database, "posts", query).await?.is_empty())
    };
    let worked = stage.work(RequestKind::Batch, delete, is_done).await?;
    let divergences = divergences(database, api).await?;
    stage.host.stop().await;
    Ok(Outcome { likes, worked, divergences })
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

/// What is wrong in the store, and with a new post under the id.
async fn divergences(database: &DatabaseClient, api: &HttpApi) -> anyhow::Result<Vec<String>> {
    let mut wrong = Vec::new();
    let left = items(database, "posts", "SELECT * FROM c").await?;
    let left = left.iter().filter(|item| item["type"] != "deletedPost");
    wrong.extend(left.map(|item| format!("left behind: {item}")));
    for container in ["users", "feed"] {
        let query = "SELECT * FROM c WHERE IS_DEFINED(c.title)";
        let copies = items(database, container, query).await?;
        wrong.extend(copies.iter().map(|copy| format!("{container}: a copy is left: {copy}")));
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

impl Outcome {
    pub(super) fn is_right(&self) -> bool {
        self.divergences.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Worked { kills, sent, .. } = &self.worked;
        write!(
            f,
            "{} likes removed, handler killed {kills} times: {sent} transactions, {}",
            self.likes,
            self.worked.in_words(&self.divergences)
        )
    }
}
