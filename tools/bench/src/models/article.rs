//! The common part of V1 and V2: the article's containers and its queries.
//!
//! The article does not print its queries. These give the answers of the product, in its order, so that the three
//! models can be compared.

use std::sync::Arc;

use anyhow::Context;
use serde_json::{Value, json};
use tributary::blog::model::summary;
use tributary_functions::{
    cosmos::{Container, Cosmos, Query, Scope},
    values::Timestamp,
};
use tributary_local::cosmos::ContainersFile;

use super::{
    NewItem,
    data::{DataSet, NewComment, NewLike, Person, PostPlan, PostText, new_id},
};

/// Users by their ids, and posts with their comments and likes by the post's id.
pub(super) struct ArticleContainers {
    pub(super) users: Container,
    pub(super) posts: Container,
}

/// Returns the article's containers, with the default indexing policy: all properties are indexed.
pub(super) fn containers() -> anyhow::Result<ContainersFile> {
    let container = |id: &str, path: &str| json!({"id": id, "partitionKey": {"paths": [path], "kind": "Hash", "version": 2}});
    let file = json!({"containers": [container("users", "/id"), container("posts", "/postId")]});
    ContainersFile::parse(&file.to_string())
}

pub(super) fn post(id: &str, author: &Person, text: &PostText, created: Timestamp) -> Value {
    json!({
        "type": "post", "id": id, "postId": id, "userId": author.id,
        "title": text.title, "content": text.content, "creationDate": created,
    })
}

pub(super) fn comment(post: &str, new: &NewComment) -> Value {
    json!({
        "type": "comment", "id": new.id, "postId": post, "userId": new.author.id,
        "content": new.content, "creationDate": new.created,
    })
}

pub(super) fn like(post: &str, new: &NewLike) -> Value {
    json!({
        "type": "like", "id": new.id, "postId": post, "userId": new.liker.id,
        "creationDate": new.created,
    })
}

/// Returns the items of a post, each completed by its user.
pub(super) fn items_of(
    data: &DataSet,
    plan: &PostPlan,
    complete: impl Fn(Value, &Person) -> Value,
) -> Vec<NewItem> {
    let id = plan.id.as_str();
    let author = data.author(plan);
    let mut items = vec![complete(post(id, author, &data.text_of(plan), plan.created()), author)];
    let comments = data.comments(plan);
    items.extend(comments.iter().map(|new| complete(comment(id, new), &new.author)));
    items.extend(data.likes(plan).iter().map(|new| complete(like(id, new), &new.liker)));
    items.into_iter().map(|item| NewItem::new("posts", id, item)).collect()
}

pub(super) fn with_name(mut item: Value, name: impl Into<Value>) -> Value {
    item["userUsername"] = name.into();
    item
}

pub(super) fn with_counts<T: Into<Value>>(mut post: Value, [comments, likes]: [T; 2]) -> Value {
    post["commentCount"] = comments.into();
    post["likeCount"] = likes.into();
    post
}

impl ArticleContainers {
    pub(super) fn new(cosmos: &Arc<Cosmos>) -> Self {
        let [users, posts] = ["users", "posts"].map(|id| cosmos.container(id));
        Self { users, posts }
    }

    pub(super) async fn create_user(&self, username: &str) -> anyhow::Result<Value> {
        let person = Person { id: new_id(), username: username.to_owned() };
        self.put_user(&person).await
    }

    pub(super) async fn put_user(&self, person: &Person) -> anyhow::Result<Value> {
        let user = json!({"id": person.id, "username": person.username});
        self.users.upsert(&person.id, &person.id, &user).await?;
        Ok(user)
    }

    pub(super) async fn get_user(&self, id: &str) -> anyhow::Result<Value> {
        read(&self.users, id).await
    }

    pub(super) async fn put_in_posts(&self, item: Value) -> anyhow::Result<Value> {
        self.posts.upsert(text(&item, "postId"), text(&item, "id"), &item).await?;
        Ok(item)
    }

    /// Returns the newest posts of a user. The query goes to all partitions.
    pub(super) async fn posts_of(&self, user: &str, limit: u32) -> anyhow::Result<Vec<Value>> {
        let query = Query::from(
            "SELECT TOP @limit * FROM c WHERE c.type = 'post' AND c.userId = @userId \
             ORDER BY c.creationDate DESC",
        );
        let query = query.with_parameter("@limit", limit)?.with_parameter("@userId", user)?;
        Ok(self.posts.query(query, Scope::Container, limit).await?)
    }

    /// Returns the newest posts of all. The query goes to all partitions.
    pub(super) async fn newest(&self, limit: u32) -> anyhow::Result<Vec<Value>> {
        let query = Query::from(
            "SELECT TOP @limit * FROM c WHERE c.type = 'post' ORDER BY c.creationDate DESC",
        );
        let query = query.with_parameter("@limit", limit)?;
        Ok(self.posts.query(query, Scope::Container, limit).await?)
    }

    pub(super) async fn comments(&self, post: &str, limit: u32) -> anyhow::Result<Vec<Value>> {
        self.children(post, "comment", "ASC", limit).await
    }

    pub(super) async fn likes(&self, post: &str, limit: u32) -> anyhow::Result<Vec<Value>> {
        self.children(post, "like", "DESC", limit).await
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
}

/// Reads an item whose partition key is its id.
pub(super) async fn read(container: &Container, id: &str) -> anyhow::Result<Value> {
    let stored = container.read(id, id).await?;
    Ok(stored.with_context(|| format!("{} has no item {id}", container.id()))?.item)
}

pub(super) fn shortened(mut posts: Vec<Value>) -> Value {
    for post in &mut posts {
        post["content"] = summary(text(post, "content")).into();
    }
    posts.into()
}

pub(super) fn text<'a>(item: &'a Value, property: &str) -> &'a str {
    item[property].as_str().unwrap_or_default()
}
