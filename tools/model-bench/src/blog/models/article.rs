//! The common part of V1 and V2: the article's containers and its queries.
//!
//! The article does not print its queries. These return the product's answers in its order, so that the
//! three models can be compared.

use anyhow::Context;
use serde::{Serialize, de::DeserializeOwned};
use tributary::blog::model::{UserId, Username};
use tributary_functions::cosmos::{Container, Query};

use super::ModelUser;
use crate::blog::data::{Person, fresh_id};

/// The article's containers, with the default indexing policy: all properties are indexed.
pub(super) const CONTAINERS: &str = r#"{
    "containers": [
        { "id": "users", "partitionKey": { "paths": ["/id"], "kind": "Hash", "version": 2 } },
        { "id": "posts", "partitionKey": { "paths": ["/postId"], "kind": "Hash", "version": 2 } }
    ]
}"#;

#[derive(Serialize)]
struct StoredUser<'a> {
    id: &'a str,
    username: &'a str,
}

/// C1.
pub(super) async fn put_user(users: &Container, person: &Person) -> anyhow::Result<()> {
    let id = person.id.as_str();
    let user = StoredUser { id, username: person.username.as_str() };
    Ok(users.upsert(id, id, &user).await?)
}

/// C1 under a new id.
pub(super) async fn create_user(users: &Container, username: &Username) -> anyhow::Result<Person> {
    let person = Person { id: UserId::parse(fresh_id())?, username: username.clone() };
    put_user(users, &person).await?;
    Ok(person)
}

/// Q1.
pub(super) async fn get_user(users: &Container, user_id: &str) -> anyhow::Result<ModelUser> {
    read(users, user_id).await
}

/// Reads an item whose partition key is its id.
pub(super) async fn read<T: DeserializeOwned>(
    container: &Container,
    id: &str,
) -> anyhow::Result<T> {
    let stored = container.read(id, id).await?;
    let stored = stored.with_context(|| format!("{} has no item {id}", container.id()))?;
    Ok(stored.item)
}

/// Returns the query for a user's posts, newest first, in all logical partitions.
pub(super) fn posts_of(user_id: &str, limit: u32) -> anyhow::Result<Query> {
    let query = Query::from(
        "SELECT TOP @limit * FROM c WHERE c.type = 'post' AND c.userId = @userId \
         ORDER BY c.creationDate DESC",
    );
    Ok(query.with_parameter("@limit", limit)?.with_parameter("@userId", user_id)?)
}

/// Returns the query for the comments or likes in the logical partition of a post.
pub(super) fn children(kind: &str, order: &str, limit: u32) -> anyhow::Result<Query> {
    let query = Query::from(format!(
        "SELECT TOP @limit * FROM c WHERE c.type = @type ORDER BY c.creationDate {order}"
    ));
    Ok(query.with_parameter("@limit", limit)?.with_parameter("@type", kind)?)
}

/// Returns the query for the newest posts, in all logical partitions.
pub(super) fn newest(limit: u32) -> anyhow::Result<Query> {
    let query = Query::from(
        "SELECT TOP @limit * FROM c WHERE c.type = 'post' ORDER BY c.creationDate DESC",
    );
    Ok(query.with_parameter("@limit", limit)?)
}
