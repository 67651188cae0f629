//! V1 and V2, the article's first two models, in its containers.
//!
//! V1 stores nothing twice: a query looks up the name on a post (Q2), a point read each name in a list, and a query each
//! count. V2 has the names on posts, comments and likes, and both counts on the post, which a transactional batch counts
//! under the ETag of a read. The article does not print its queries; these give the answers of the product, in its order.

use std::sync::Arc;

use anyhow::{Context, bail};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tributary::blog::model::summary;
use tributary_functions::{
    cosmos::{Container, Cosmos, Query, Reason, Scope, Stored, Transaction},
    values::Timestamp,
};
use tributary_local::cosmos::ContainersFile;

use super::{
    Model, NewItem,
    data::{Person, comment, like, new_id, post},
    requests::{
        COMMENTS, FEED, LIKES, ModelCall, POSTS_OF_A_USER,
        RequestKind::{C1, C2, C3, C4, Q1, Q2, Q3, Q4, Q5, Q6},
    },
};

const N_LOOKUPS: usize = 8;
const MAX_ATTEMPTS: usize = 20;

pub(super) struct ArticleModel<const HAS_COPIES: bool> {
    users: Container,
    posts: Container,
}

pub(super) type V1 = ArticleModel<false>;
pub(super) type V2 = ArticleModel<true>;

impl<const HAS_COPIES: bool> Model for ArticleModel<HAS_COPIES> {
    const NUMBER: usize = if HAS_COPIES { 2 } else { 1 };

    /// Returns the containers with the default indexing policy: all properties are indexed.
    fn containers() -> anyhow::Result<ContainersFile> {
        let container = |id: &str, path: &str| json!({"id": id, "partitionKey": {"paths": [path], "kind": "Hash", "version": 2}});
        let file =
            json!({"containers": [container("users", "/id"), container("posts", "/postId")]});
        ContainersFile::parse(&file.to_string())
    }

    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self> {
        Ok(Self { users: cosmos.container("users"), posts: cosmos.container("posts") })
    }

    fn items_of(post: &[Value]) -> anyhow::Result<Vec<NewItem>> {
        let items = post.iter().cloned().map(Self::stored);
        Ok(items.map(|item| ("posts", property(&post[0], "id").to_owned(), item)).collect())
    }

    async fn put_user(&self, Person { id, username }: &Person) -> anyhow::Result<Value> {
        let user = json!({"id": id, "username": username});
        self.users.upsert(id, id, &user).await?;
        Ok(user)
    }

    async fn answer(&self, call: ModelCall) -> anyhow::Result<Value> {
        let ModelCall { kind, user, post: post_id, text } = call;
        let id = new_id();
        let created = Timestamp::now();
        match kind {
            C1 => self.put_user(&user).await,
            Q1 => read(&self.users, &user.id).await,
            C2 => {
                let post = Self::stored(post(&id, &user, &text, created, [0, 0]));
                self.posts.upsert(&id, &id, &post).await?;
                Ok(post)
            }
            Q2 if HAS_COPIES => read(&self.posts, &post_id).await,
            Q2 => {
                let post = read(&self.posts, &post_id).await?;
                let name = self.queried_name(property(&post, "userId"));
                let (name, counts) = futures::try_join!(name, self.counts(&post_id))?;
                Ok(with_counts(with_name(post, &name), counts))
            }
            Q3 => {
                let mut posts = self.posts_of(&user.id).await?;
                if !HAS_COPIES {
                    let user = read(&self.users, &user.id).await?;
                    posts = posts.into_iter().map(|post| with_name(post, &user)).collect();
                }
                Ok(shortened(self.counted(posts).await?))
            }
            C3 => {
                let new = comment(&post_id, &id, &user, &text.content, created);
                self.create_counted(&post_id, new, "commentCount").await
            }
            Q4 => {
                let comments = self.children(&post_id, "comment", "ASC", COMMENTS).await?;
                Ok(self.named(comments).await?.into())
            }
            C4 => {
                let new = like(&post_id, &id, &user, created);
                self.create_counted(&post_id, new, "likeCount").await
            }
            Q5 => {
                let likes = self.children(&post_id, "like", "DESC", LIKES).await?;
                Ok(self.named(likes).await?.into())
            }
            Q6 => {
                let posts = self.named(self.newest().await?).await?;
                Ok(shortened(self.counted(posts).await?))
            }
        }
    }
}

impl<const HAS_COPIES: bool> ArticleModel<HAS_COPIES> {
    fn stored(mut item: Value) -> Value {
        if let Some(properties) = item.as_object_mut().filter(|_| !HAS_COPIES) {
            properties.retain(|name, _| {
                !matches!(name.as_str(), "userUsername" | "commentCount" | "likeCount")
            });
        }
        item
    }

    async fn named(&self, items: Vec<Value>) -> anyhow::Result<Vec<Value>> {
        if HAS_COPIES {
            return Ok(items);
        }
        let items = stream::iter(items).map(async |item| {
            let user = read(&self.users, property(&item, "userId")).await?;
            anyhow::Ok(with_name(item, &user))
        });
        items.buffered(N_LOOKUPS).try_collect().await
    }

    async fn counted(&self, posts: Vec<Value>) -> anyhow::Result<Vec<Value>> {
        if HAS_COPIES {
            return Ok(posts);
        }
        let posts = stream::iter(posts).map(async |post| {
            let counts = self.counts(property(&post, "id")).await?;
            anyhow::Ok(with_counts(post, counts))
        });
        posts.buffered(N_LOOKUPS).try_collect().await
    }

    async fn queried_name(&self, user: &str) -> anyhow::Result<Value> {
        let query = Query::from("SELECT c.id, c.username FROM c WHERE c.id = @id");
        let query = query.with_parameter("@id", user)?;
        let users: Vec<Value> = self.users.query(query, Scope::Partition(user), 1).await?;
        users.into_iter().next().context("the author does not exist")
    }

    async fn counts(&self, post: &str) -> anyhow::Result<[u64; 2]> {
        let mut counts = [0, 0];
        for (count, kind) in counts.iter_mut().zip(["comment", "like"]) {
            let query = Query::from(
                "SELECT VALUE COUNT(1) FROM c WHERE c.postId = @postId AND c.type = @type",
            );
            let query = query.with_parameter("@postId", post)?.with_parameter("@type", kind)?;
            // The store counts page by page.
            let pages: Vec<u64> = self.posts.query(query, Scope::Partition(post), 1).await?;
            *count = pages.into_iter().sum();
        }
        Ok(counts)
    }

    async fn posts_of(&self, user: &str) -> anyhow::Result<Vec<Value>> {
        let query = Query::from(
            "SELECT TOP @limit * FROM c WHERE c.type = 'post' AND c.userId = @userId \
             ORDER BY c.creationDate DESC",
        );
        let query = query.with_parameter("@limit", POSTS_OF_A_USER)?;
        let query = query.with_parameter("@userId", user)?;
        Ok(self.posts.query(query, Scope::Container, POSTS_OF_A_USER).await?)
    }

    async fn newest(&self) -> anyhow::Result<Vec<Value>> {
        let query = Query::from(
            "SELECT TOP @limit * FROM c WHERE c.type = 'post' ORDER BY c.creationDate DESC",
        );
        let query = query.with_parameter("@limit", FEED)?;
        Ok(self.posts.query(query, Scope::Container, FEED).await?)
    }

    async fn children(
        &self,
        post: &str,
        kind: &str,
        order: &str,
        limit: u32,
    ) -> anyhow::Result<Vec<Value>> {
        let query = Query::from(format!(
            "SELECT TOP @limit * FROM c WHERE c.type = @type ORDER BY c.creationDate {order}"
        ));
        let query = query.with_parameter("@limit", limit)?.with_parameter("@type", kind)?;
        Ok(self.posts.query(query, Scope::Partition(post), limit).await?)
    }

    /// Creates a comment or like; if the post has counts, in one transaction with its count.
    async fn create_counted(&self, post: &str, new: Value, count: &str) -> anyhow::Result<Value> {
        let new = Self::stored(new);
        if !HAS_COPIES {
            self.posts.upsert(post, property(&new, "id"), &new).await?;
            return Ok(new);
        }
        for _ in 0..MAX_ATTEMPTS {
            let stored: Option<Stored<Value>> = self.posts.read(post, post).await?;
            let mut stored = stored.with_context(|| format!("there is no post {post}"))?;
            let properties = stored.item.as_object_mut().context("a post is an object")?;
            // The store's own properties, such as `_etag`.
            properties.retain(|name, _| !name.starts_with('_'));
            let counted = properties[count].as_u64().unwrap_or(0) + 1;
            properties.insert(count.to_owned(), counted.into());
            let transaction =
                Transaction::new(post).create(&new)?.replace(post, &stored.item, &stored.etag)?;
            match self.posts.transact(transaction).await {
                Ok(_) => return Ok(new),
                Err(refusal) if refusal.error.reason == Reason::PreconditionFailed => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        bail!("the post {post} has changed {MAX_ATTEMPTS} times between its read and its write")
    }
}

async fn read(container: &Container, id: &str) -> anyhow::Result<Value> {
    let stored = container.read(id, id).await?;
    Ok(stored.with_context(|| format!("{} has no item {id}", container.id()))?.item)
}

fn with_name(mut item: Value, user: &Value) -> Value {
    item["userUsername"] = user["username"].clone();
    item
}

fn with_counts(mut post: Value, [comments, likes]: [u64; 2]) -> Value {
    post["commentCount"] = comments.into();
    post["likeCount"] = likes.into();
    post
}

fn shortened(mut posts: Vec<Value>) -> Value {
    for post in &mut posts {
        post["content"] = summary(property(post, "content")).into();
    }
    posts.into()
}

fn property<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_default()
}
