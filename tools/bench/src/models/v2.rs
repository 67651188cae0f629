//! V2: names on posts, comments and likes, and both counts on the post. The article counts in a stored procedure;
//! here that is a read, and a transactional batch under the ETag of the read.

use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::Value;
use tributary_functions::{
    cosmos::{Cosmos, Reason, Stored, Transaction},
    values::Timestamp,
};
use tributary_local::cosmos::ContainersFile;

use super::{
    Model, NewItem,
    article::{
        ArticleContainers, comment, containers, items_of, like, post, read, shortened, with_counts,
        with_name,
    },
    data::{DataSet, NewComment, NewLike, Person, PostPlan, new_id},
    requests::{COMMENTS, FEED, LIKES, ModelCall, POSTS_OF_A_USER},
};

const MAX_ATTEMPTS: usize = 20;

pub(super) struct V2(ArticleContainers);

impl Model for V2 {
    const NAME: &'static str = "V2";

    fn containers() -> anyhow::Result<ContainersFile> {
        containers()
    }

    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self> {
        Ok(Self(ArticleContainers::new(cosmos)))
    }

    fn items_of(data: &DataSet, plan: &PostPlan) -> anyhow::Result<Vec<NewItem>> {
        let counts = [plan.comments, plan.likes];
        Ok(items_of(data, plan, |item, user| match with_name(item, &*user.username) {
            post if post["type"] == "post" => with_counts(post, counts),
            item => item,
        }))
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
                let post = with_name(post(&new_id(), &author, &text, created), author.username);
                self.0.put_in_posts(with_counts(post, [0, 0])).await
            }
            ModelCall::GetPost(id) => read(&self.0.posts, &id).await,
            ModelCall::ListUserPosts(user) => {
                Ok(shortened(self.0.posts_of(&user, POSTS_OF_A_USER).await?))
            }
            ModelCall::CreateComment { post, author, content } => {
                let new = NewComment { id: new_id(), author, content, created };
                let comment = with_name(comment(&post, &new), new.author.username);
                self.create_counted(&post, comment, "commentCount").await
            }
            ModelCall::ListComments(post) => Ok(self.0.comments(&post, COMMENTS).await?.into()),
            ModelCall::LikePost { post, liker } => {
                let new = NewLike { id: new_id(), liker, created };
                let like = with_name(like(&post, &new), new.liker.username);
                self.create_counted(&post, like, "likeCount").await
            }
            ModelCall::ListLikes(post) => Ok(self.0.likes(&post, LIKES).await?.into()),
            ModelCall::GetFeed => Ok(shortened(self.0.newest(FEED).await?)),
        }
    }
}

impl V2 {
    /// Creates a comment or like and counts it on its post, in one transaction.
    async fn create_counted(&self, post: &str, new: Value, count: &str) -> anyhow::Result<Value> {
        for _ in 0..MAX_ATTEMPTS {
            let stored: Option<Stored<Value>> = self.0.posts.read(post, post).await?;
            let mut stored = stored.with_context(|| format!("there is no post {post}"))?;
            let properties = stored.item.as_object_mut().context("a post is an object")?;
            // The store's own properties, such as `_etag`.
            properties.retain(|name, _| !name.starts_with('_'));
            let counted = properties[count].as_u64().unwrap_or(0) + 1;
            properties.insert(count.to_owned(), counted.into());
            let transaction =
                Transaction::new(post).create(&new)?.replace(post, &stored.item, &stored.etag)?;
            match self.0.posts.transact(transaction).await {
                Ok(_) => return Ok(new),
                Err(refusal) if refusal.error.reason == Reason::PreconditionFailed => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        bail!("the post {post} has changed {MAX_ATTEMPTS} times between its read and its write")
    }
}
