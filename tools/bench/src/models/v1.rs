//! V1: users and posts, without copies. Names and counts are looked up for each read.
//!
//! The article and its figures show how: a query looks up the name on a post (Q2), and a point read each name in a
//! list.

use std::sync::Arc;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use tributary_functions::{
    cosmos::{Cosmos, Query, Scope},
    values::Timestamp,
};
use tributary_local::cosmos::ContainersFile;

use super::{
    Model, NewItem,
    article::{
        ArticleContainers, comment, containers, items_of, like, post, read, shortened, text,
        with_counts, with_name,
    },
    data::{DataSet, NewComment, NewLike, Person, PostPlan, new_id},
    requests::{COMMENTS, FEED, LIKES, ModelCall, POSTS_OF_A_USER},
};

const N_LOOKUPS: usize = 8;

pub(super) struct V1(ArticleContainers);

impl Model for V1 {
    const NAME: &'static str = "V1";

    fn containers() -> anyhow::Result<ContainersFile> {
        containers()
    }

    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self> {
        Ok(Self(ArticleContainers::new(cosmos)))
    }

    fn items_of(data: &DataSet, plan: &PostPlan) -> anyhow::Result<Vec<NewItem>> {
        Ok(items_of(data, plan, |item, _| item))
    }

    async fn put_user(&self, person: &Person) -> anyhow::Result<Value> {
        self.0.put_user(person).await
    }

    async fn answer(&self, call: ModelCall) -> anyhow::Result<Value> {
        let created = Timestamp::now();
        match call {
            ModelCall::CreateUser { username } => self.0.create_user(&username).await,
            ModelCall::GetUser(user) => self.0.get_user(&user).await,
            ModelCall::CreatePost { author, text } => {
                self.0.put_in_posts(post(&new_id(), &author, &text, created)).await
            }
            ModelCall::GetPost(id) => {
                let post = read(&self.0.posts, &id).await?;
                let name = self.queried_name(text(&post, "userId"));
                let (name, counts) = futures::try_join!(name, self.counts(&id))?;
                Ok(with_counts(with_name(post, name["username"].clone()), counts))
            }
            ModelCall::ListUserPosts(user) => {
                let posts = self.0.posts_of(&user, POSTS_OF_A_USER).await?;
                let user = self.0.get_user(&user).await?;
                let posts = stream::iter(posts).map(async |post| {
                    let counts = self.counts(text(&post, "id")).await?;
                    anyhow::Ok(with_counts(with_name(post, user["username"].clone()), counts))
                });
                Ok(shortened(posts.buffered(N_LOOKUPS).try_collect().await?))
            }
            ModelCall::CreateComment { post, author, content } => {
                let new = NewComment { id: new_id(), author, content, created };
                self.0.put_in_posts(comment(&post, &new)).await
            }
            ModelCall::ListComments(post) => {
                Ok(self.with_names(self.0.comments(&post, COMMENTS).await?).await?.into())
            }
            ModelCall::LikePost { post, liker } => {
                let new = NewLike { id: new_id(), liker, created };
                self.0.put_in_posts(like(&post, &new)).await
            }
            ModelCall::ListLikes(post) => {
                Ok(self.with_names(self.0.likes(&post, LIKES).await?).await?.into())
            }
            ModelCall::GetFeed => {
                let posts = self.with_names(self.0.newest(FEED).await?).await?;
                let posts = stream::iter(posts).map(async |post| {
                    let counts = self.counts(text(&post, "id")).await?;
                    anyhow::Ok(with_counts(post, counts))
                });
                Ok(shortened(posts.buffered(N_LOOKUPS).try_collect().await?))
            }
        }
    }
}

impl V1 {
    /// Adds to each item the name of its user, by a point read.
    async fn with_names(&self, items: Vec<Value>) -> anyhow::Result<Vec<Value>> {
        let items = stream::iter(items).map(async |item| {
            let user = self.0.get_user(text(&item, "userId")).await?;
            anyhow::Ok(with_name(item, user["username"].clone()))
        });
        items.buffered(N_LOOKUPS).try_collect().await
    }

    async fn queried_name(&self, user: &str) -> anyhow::Result<Value> {
        let query = Query::from("SELECT c.id, c.username FROM c WHERE c.id = @id");
        let query = query.with_parameter("@id", user)?;
        let users: Vec<Value> = self.0.users.query(query, Scope::Partition(user), 1).await?;
        users.into_iter().next().context("the author does not exist")
    }

    /// Counts the comments and likes of a post, with a query for each.
    async fn counts(&self, post: &str) -> anyhow::Result<[u64; 2]> {
        let mut counts = [0, 0];
        for (count, kind) in counts.iter_mut().zip(["comment", "like"]) {
            let query = Query::from(
                "SELECT VALUE COUNT(1) FROM c WHERE c.postId = @postId AND c.type = @type",
            );
            let query = query.with_parameter("@postId", post)?.with_parameter("@type", kind)?;
            // The store counts page by page.
            let pages: Vec<u64> = self.0.posts.query(query, Scope::Partition(post), 1).await?;
            *count = pages.into_iter().sum();
        }
        Ok(counts)
    }
}
