//! Posts and likes, written in the form of the commands, past the app.

use std::ops::Range;

use azure_data_cosmos::{DatabaseClient, TransactionalBatch, clients::ContainerClient};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

/// The users. Each has written as many posts as the others, and liked as many.
pub(super) const USERS: usize = 20;

/// The number of posts that are written at a time.
const N_WRITERS: usize = 16;

pub(super) struct FeedPosts(ContainerClient);

impl FeedPosts {
    pub(super) async fn open(database: &DatabaseClient) -> anyhow::Result<Self> {
        Ok(Self(database.container_client("posts", None).await?))
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
                let answer = self.0.execute_transactional_batch(batch, None).await?.into_model()?;
                let refused = answer.results().iter().any(|result| !result.is_success());
                anyhow::ensure!(!refused, "the items of post {n} were refused");
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
