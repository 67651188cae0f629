//! The three models behind one trait. Their answers are the same, to the last count: a test compares
//! them. This program measures their cost.

mod article;
mod v1;
mod v2;
mod v3;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tributary::blog::model::{PublicComment, PublicPost, UserId, Username, summary};
use tributary_functions::{cosmos::Cosmos, values::Timestamp};
use tributary_local::cosmos::ContainersFile;

pub(crate) use self::{v1::V1, v2::V2, v3::V3};
use crate::blog::{
    data::{DataSet, Person, PostPlan},
    request::ModelVersion,
};

/// The number of concurrent lookups of one request.
const CONCURRENT_LOOKUPS: usize = 8;

/// A data model: the ten requests, and the items of the data set.
pub(crate) trait Model: Sized {
    /// Its version.
    const VERSION: ModelVersion;

    /// Its containers.
    fn containers() -> anyhow::Result<ContainersFile>;

    /// Creates the model in a database that has its containers.
    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self>;

    /// Returns the items of a post in their final form: the post, its comments and its likes, and its
    /// copies in models with copies.
    fn items_of(data: &DataSet, post: &PostPlan) -> anyhow::Result<Vec<NewItem>>;

    /// Returns the items that are made of all posts.
    fn items_of_all(data: &DataSet) -> anyhow::Result<Vec<NewItem>>;

    /// C1 under an id of the data set.
    async fn put_user(&self, person: &Person) -> anyhow::Result<()>;

    /// C1: a user under a new id.
    async fn create_user(&self, username: &Username) -> anyhow::Result<Person>;
    /// Q1.
    async fn get_user(&self, user_id: &str) -> anyhow::Result<ModelUser>;
    /// C2: a post under a new id, which is the answer.
    async fn create_post(&self, author: &Person, text: (&str, &str)) -> anyhow::Result<String>;
    /// Q2.
    async fn get_post(&self, post_id: &str) -> anyhow::Result<PublicPost>;
    /// Q3: the newest posts of a user in short form.
    async fn list_user_posts(&self, user_id: &str, limit: u32) -> anyhow::Result<Vec<PublicPost>>;
    /// C3.
    async fn create_comment(
        &self,
        post_id: &str,
        author: &Person,
        content: &str,
    ) -> anyhow::Result<()>;
    /// Q4: the oldest comments on a post.
    async fn list_comments(&self, post_id: &str, limit: u32) -> anyhow::Result<Vec<PublicComment>>;
    /// C4.
    async fn like_post(&self, post_id: &str, liker: &Person) -> anyhow::Result<()>;
    /// Q5: the newest likes of a post.
    async fn list_likes(&self, post_id: &str, limit: u32) -> anyhow::Result<Vec<Like>>;
    /// Q6: the newest posts of all in short form.
    async fn feed(&self, limit: u32) -> anyhow::Result<Vec<PublicPost>>;
}

/// An item to write.
#[derive(Debug)]
pub(crate) struct NewItem {
    pub(crate) container: &'static str,
    pub(crate) partition: String,
    pub(crate) id: String,
    pub(crate) json: Value,
}

impl NewItem {
    fn new(
        container: &'static str,
        partition: &str,
        id: &str,
        item: &impl Serialize,
    ) -> anyhow::Result<Self> {
        let json = serde_json::to_value(item)?;
        Ok(Self { container, partition: partition.to_owned(), id: id.to_owned(), json })
    }
}

/// A user as every model shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ModelUser {
    pub(crate) id: UserId,
    pub(crate) username: Username,
}

/// A like as every model shows it. Ids of likes are a model's own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Like {
    pub(crate) user_id: UserId,
    pub(crate) user_username: Username,
    pub(crate) creation_date: Timestamp,
}

/// Shortens a post, for models without short forms.
fn shortened(mut post: PublicPost) -> PublicPost {
    post.content = summary(&post.content);
    post
}
