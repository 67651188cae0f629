//! V2: counts and usernames are copied into the items that show them. The article counts in a stored
//! procedure; here that is a read and a transactional batch under the ETag of the read.

use std::sync::Arc;

use anyhow::bail;
use serde::{Deserialize, Serialize};
use tributary::blog::model::{CommentId, PostId, PublicComment, PublicLike, PublicPost, Username};
use tributary_functions::{
    cosmos::{Container, Cosmos, Query, Reason, Scope, Stored, Transaction},
    values::Timestamp,
};
use tributary_local::cosmos::ContainersFile;

use super::{
    Like, Model, ModelUser, NewItem,
    article::{CONTAINERS, children, create_user, get_user, newest, posts_of, put_user},
    shortened,
};
use crate::blog::{
    data::{DataSet, Person, PostPlan, fresh_id},
    request::ModelVersion,
};

/// The number of attempts of a command that counts, after lost races.
const MAX_ATTEMPTS: usize = 20;

/// The model with denormalized counts and usernames.
pub(crate) struct V2 {
    users: Container,
    posts: Container,
}

/// An item of the container `posts` in the form of the article, which is that of the API.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum V2Item {
    Post(PublicPost),
    Comment(PublicComment),
    Like(PublicLike),
}

impl Model for V2 {
    const VERSION: ModelVersion = ModelVersion::V2;

    fn containers() -> anyhow::Result<ContainersFile> {
        Ok(ContainersFile::parse(CONTAINERS)?)
    }

    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self> {
        Ok(Self { users: cosmos.container("users"), posts: cosmos.container("posts") })
    }

    fn items_of(data: &DataSet, post: &PostPlan) -> anyhow::Result<Vec<NewItem>> {
        let (title, content) = data.text_of(post);
        let author = data.author(post);
        let mut items = vec![item(&V2Item::Post(PublicPost {
            id: post.id.to_string(),
            post_id: post.id.clone(),
            user_id: author.id.clone(),
            user_username: author.username.clone(),
            title,
            content,
            comment_count: post.comments.into(),
            like_count: post.likes.into(),
            creation_date: post.created(),
        }))?];
        for comment in data.comments(post)? {
            let author = comment.author;
            items.push(item(&V2Item::Comment(PublicComment {
                id: comment.id,
                post_id: post.id.clone(),
                user_id: author.id.clone(),
                user_username: author.username.clone(),
                content: comment.content,
                creation_date: comment.created,
            }))?);
        }
        for like in data.likes(post) {
            items.push(item(&like_of(like.id, post.id.clone(), like.liker, like.created))?);
        }
        Ok(items)
    }

    fn items_of_all(_: &DataSet) -> anyhow::Result<Vec<NewItem>> {
        Ok(Vec::new())
    }

    async fn put_user(&self, person: &Person) -> anyhow::Result<()> {
        put_user(&self.users, person).await
    }

    async fn create_user(&self, username: &Username) -> anyhow::Result<Person> {
        create_user(&self.users, username).await
    }

    async fn get_user(&self, user_id: &str) -> anyhow::Result<ModelUser> {
        get_user(&self.users, user_id).await
    }

    async fn create_post(&self, author: &Person, text: (&str, &str)) -> anyhow::Result<String> {
        let post_id = PostId::parse(fresh_id())?;
        let post = V2Item::Post(PublicPost {
            id: post_id.to_string(),
            post_id: post_id.clone(),
            user_id: author.id.clone(),
            user_username: author.username.clone(),
            title: text.0.to_owned(),
            content: text.1.to_owned(),
            comment_count: 0,
            like_count: 0,
            creation_date: Timestamp::now(),
        });
        self.posts.upsert(post_id.as_str(), post_id.as_str(), &post).await?;
        Ok(post_id.to_string())
    }

    async fn get_post(&self, post_id: &str) -> anyhow::Result<PublicPost> {
        Ok(self.post(post_id).await?.item)
    }

    async fn list_user_posts(&self, user_id: &str, limit: u32) -> anyhow::Result<Vec<PublicPost>> {
        self.short(posts_of(user_id, limit)?, limit).await
    }

    async fn create_comment(
        &self,
        post_id: &str,
        author: &Person,
        content: &str,
    ) -> anyhow::Result<()> {
        let comment = V2Item::Comment(PublicComment {
            id: CommentId::parse(fresh_id())?,
            post_id: PostId::parse(post_id.to_owned())?,
            user_id: author.id.clone(),
            user_username: author.username.clone(),
            content: content.to_owned(),
            creation_date: Timestamp::now(),
        });
        self.create_counted(post_id, &comment, |post| post.comment_count += 1).await
    }

    async fn list_comments(&self, post_id: &str, limit: u32) -> anyhow::Result<Vec<PublicComment>> {
        let query = children("comment", "ASC", limit)?;
        Ok(self.posts.query(query, Scope::Partition(post_id), limit).await?)
    }

    async fn like_post(&self, post_id: &str, liker: &Person) -> anyhow::Result<()> {
        let of = PostId::parse(post_id.to_owned())?;
        let like = like_of(fresh_id(), of, liker, Timestamp::now());
        self.create_counted(post_id, &like, |post| post.like_count += 1).await
    }

    async fn list_likes(&self, post_id: &str, limit: u32) -> anyhow::Result<Vec<Like>> {
        let query = children("like", "DESC", limit)?;
        Ok(self.posts.query(query, Scope::Partition(post_id), limit).await?)
    }

    async fn feed(&self, limit: u32) -> anyhow::Result<Vec<PublicPost>> {
        self.short(newest(limit)?, limit).await
    }
}

impl V2 {
    async fn post(&self, post_id: &str) -> anyhow::Result<Stored<PublicPost>> {
        match self.posts.read(post_id, post_id).await? {
            Some(Stored { item: V2Item::Post(item), etag }) => Ok(Stored { item, etag }),
            _ => bail!("there is no post {post_id}"),
        }
    }

    /// Returns posts in short form out of all logical partitions.
    async fn short(&self, query: Query, limit: u32) -> anyhow::Result<Vec<PublicPost>> {
        let posts: Vec<PublicPost> = self.posts.query(query, Scope::Container, limit).await?;
        Ok(posts.into_iter().map(shortened).collect())
    }

    /// Creates a comment or like and counts it, in one transaction.
    async fn create_counted(
        &self,
        post_id: &str,
        new: &V2Item,
        count: impl Fn(&mut PublicPost),
    ) -> anyhow::Result<()> {
        for _ in 0..MAX_ATTEMPTS {
            let mut post = self.post(post_id).await?;
            count(&mut post.item);
            let transaction = Transaction::new(post_id).create(new)?.replace(
                post_id,
                &V2Item::Post(post.item),
                &post.etag,
            )?;
            match self.posts.transact(transaction).await {
                Ok(_) => return Ok(()),
                Err(refusal) if refusal.error.reason == Reason::PreconditionFailed => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        bail!("the post {post_id} has changed {MAX_ATTEMPTS} times between its read and its write")
    }
}

fn item(item: &V2Item) -> anyhow::Result<NewItem> {
    let (partition, id) = match item {
        V2Item::Post(post) => (&post.post_id, post.id.as_str()),
        V2Item::Comment(comment) => (&comment.post_id, comment.id.as_str()),
        V2Item::Like(like) => (&like.post_id, like.id.as_str()),
    };
    NewItem::new("posts", partition.as_str(), id, item)
}

fn like_of(id: String, post_id: PostId, liker: &Person, creation_date: Timestamp) -> V2Item {
    V2Item::Like(PublicLike {
        id,
        post_id,
        user_id: liker.id.clone(),
        user_username: liker.username.clone(),
        creation_date,
    })
}
