//! V1 and V2, the article's first two models, in its containers.
//!
//! V1 stores nothing twice: a query looks up the name on a post (Q2), a point read each name in a list, and a query each
//! count. V2 has the names on posts, comments and likes, and both counts on the post, which a transactional batch counts
//! under the ETag of a read. The article does not print its queries; these give the answers of the product, in its order.

use std::sync::Arc;

use anyhow::Context;
use serde_json::{Value, json};
use tributary::blog::model::summary;
use tributary_functions::{
    cosmos::{Container, Cosmos, Query, Scope, Stored, Transaction},
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

const NEWEST: &str = "c.type = @of ORDER BY c.creationDate DESC";

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
                let mut post = read(&self.posts, &post_id).await?;
                let user = self.queried_user(property(&post, "userId")).await?;
                set_name(&mut post, &user);
                set_counts(&mut post, self.counts(&post_id).await?);
                Ok(post)
            }
            Q3 => {
                let of_a_user = "c.type = 'post' AND c.userId = @of ORDER BY c.creationDate DESC";
                let list = self.list(Scope::Container, of_a_user, &user.id, POSTS_OF_A_USER);
                let mut posts = list.await?;
                if !HAS_COPIES {
                    let user = read(&self.users, &user.id).await?;
                    for post in &mut posts {
                        set_name(post, &user);
                    }
                }
                Ok(shortened(self.counted(posts).await?))
            }
            C3 => {
                let new = comment(&post_id, &id, &user, &text.content, created);
                self.create_counted(&post_id, new, "commentCount").await
            }
            Q4 => {
                let oldest = "c.type = @of ORDER BY c.creationDate ASC";
                let list = self.list(Scope::Partition(&post_id), oldest, "comment", COMMENTS);
                Ok(self.named(list.await?).await?.into())
            }
            C4 => {
                let new = like(&post_id, &id, &user, created);
                self.create_counted(&post_id, new, "likeCount").await
            }
            Q5 => {
                let list = self.list(Scope::Partition(&post_id), NEWEST, "like", LIKES);
                Ok(self.named(list.await?).await?.into())
            }
            Q6 => {
                let list = self.list(Scope::Container, NEWEST, "post", FEED);
                let posts = self.named(list.await?).await?;
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

    async fn named(&self, mut items: Vec<Value>) -> anyhow::Result<Vec<Value>> {
        for item in items.iter_mut().filter(|_| !HAS_COPIES) {
            let user = read(&self.users, property(item, "userId")).await?;
            set_name(item, &user);
        }
        Ok(items)
    }

    async fn counted(&self, mut posts: Vec<Value>) -> anyhow::Result<Vec<Value>> {
        for post in posts.iter_mut().filter(|_| !HAS_COPIES) {
            let counts = self.counts(property(post, "id")).await?;
            set_counts(post, counts);
        }
        Ok(posts)
    }

    async fn queried_user(&self, user: &str) -> anyhow::Result<Value> {
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

    async fn list(
        &self,
        scope: Scope<'_>,
        filter_and_order: &str,
        of: &str,
        limit: u32,
    ) -> anyhow::Result<Vec<Value>> {
        let query = Query::from(format!("SELECT TOP @limit * FROM c WHERE {filter_and_order}"));
        let query = query.with_parameter("@limit", limit)?.with_parameter("@of", of)?;
        Ok(self.posts.query(query, scope, limit).await?)
    }

    /// Creates a comment or like; if the post has counts, in one transaction with its count.
    async fn create_counted(&self, post: &str, new: Value, count: &str) -> anyhow::Result<Value> {
        let new = Self::stored(new);
        if !HAS_COPIES {
            self.posts.upsert(post, property(&new, "id"), &new).await?;
            return Ok(new);
        }
        let stored: Option<Stored<Value>> = self.posts.read(post, post).await?;
        let mut stored = stored.with_context(|| format!("there is no post {post}"))?;
        let properties = stored.item.as_object_mut().context("a post is an object")?;
        // The store's own properties, such as `_etag`.
        properties.retain(|name, _| !name.starts_with('_'));
        let counted = properties[count].as_u64().unwrap_or(0) + 1;
        properties.insert(count.to_owned(), counted.into());
        let transaction =
            Transaction::new(post).create(&new)?.replace(post, &stored.item, &stored.etag)?;
        self.posts.transact(transaction).await?;
        Ok(new)
    }
}

async fn read(container: &Container, id: &str) -> anyhow::Result<Value> {
    let stored = container.read(id, id).await?;
    Ok(stored.with_context(|| format!("{} has no item {id}", container.id()))?.item)
}

fn set_name(item: &mut Value, user: &Value) {
    item["userUsername"] = user["username"].clone();
}

fn set_counts(post: &mut Value, [comments, likes]: [u64; 2]) {
    post["commentCount"] = comments.into();
    post["likeCount"] = likes.into();
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
