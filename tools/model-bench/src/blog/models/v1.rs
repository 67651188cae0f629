//! V1: users and posts, without copies. The counts and names of a post are looked up for each read.
//!
//! The article and its figures show how: a query looks up the name on a post (Q2), a point read each
//! name in a list.

use std::sync::Arc;

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use tributary::blog::model::{CommentId, PostId, PublicComment, PublicPost, UserId, Username};
use tributary_functions::{
    cosmos::{Container, Cosmos, Query, Scope, StoreError},
    values::Timestamp,
};
use tributary_local::cosmos::ContainersFile;

use super::{
    CONCURRENT_LOOKUPS, Like, Model, ModelUser, NewItem,
    article::{CONTAINERS, children, create_user, get_user, newest, posts_of, put_user, read},
    shortened,
};
use crate::blog::{
    data::{DataSet, Person, PostPlan, fresh_id},
    request::ModelVersion,
};

/// The model without denormalized fields.
pub(crate) struct V1 {
    users: Container,
    posts: Container,
}

/// An item of the container `posts`.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum V1Item {
    Post(StoredPost),
    Comment(StoredComment),
    Like(StoredLike),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPost {
    id: String,
    post_id: PostId,
    user_id: UserId,
    title: String,
    content: String,
    creation_date: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredComment {
    id: CommentId,
    post_id: PostId,
    user_id: UserId,
    content: String,
    creation_date: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredLike {
    id: String,
    post_id: PostId,
    user_id: UserId,
    creation_date: Timestamp,
}

impl Model for V1 {
    const VERSION: ModelVersion = ModelVersion::V1;

    fn containers() -> anyhow::Result<ContainersFile> {
        Ok(ContainersFile::parse(CONTAINERS)?)
    }

    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self> {
        Ok(Self { users: cosmos.container("users"), posts: cosmos.container("posts") })
    }

    fn items_of(data: &DataSet, post: &PostPlan) -> anyhow::Result<Vec<NewItem>> {
        let (title, content) = data.text_of(post);
        let mut items = vec![item(&V1Item::Post(StoredPost {
            id: post.id.to_string(),
            post_id: post.id.clone(),
            user_id: data.author(post).id.clone(),
            title,
            content,
            creation_date: post.created(),
        }))?];
        for comment in data.comments(post)? {
            items.push(item(&V1Item::Comment(StoredComment {
                id: comment.id,
                post_id: post.id.clone(),
                user_id: comment.author.id.clone(),
                content: comment.content,
                creation_date: comment.created,
            }))?);
        }
        for like in data.likes(post) {
            items.push(item(&V1Item::Like(StoredLike {
                id: like.id,
                post_id: post.id.clone(),
                user_id: like.liker.id.clone(),
                creation_date: like.created,
            }))?);
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

    async fn create_post(
        &self,
        author: &Person,
        (title, content): (&str, &str),
    ) -> anyhow::Result<String> {
        let post_id = PostId::parse(fresh_id())?;
        self.upsert(&V1Item::Post(StoredPost {
            id: post_id.to_string(),
            post_id: post_id.clone(),
            user_id: author.id.clone(),
            title: title.to_owned(),
            content: content.to_owned(),
            creation_date: Timestamp::now(),
        }))
        .await?;
        Ok(post_id.to_string())
    }

    async fn get_post(&self, post_id: &str) -> anyhow::Result<PublicPost> {
        let post: StoredPost = read(&self.posts, post_id).await?;
        let name = async {
            let query = Query::from("SELECT c.id, c.username FROM c WHERE c.id = @id")
                .with_parameter("@id", post.user_id.as_str())
                .map_err(StoreError::from)?;
            let scope = Scope::Partition(post.user_id.as_str());
            let users: Vec<ModelUser> = self.users.query(query, scope, 1).await?;
            users.into_iter().next().context("the author does not exist")
        };
        let (user, counts) = futures::try_join!(name, self.counts(&post.post_id))?;
        Ok(public(post, user.username, counts))
    }

    async fn list_user_posts(&self, user_id: &str, limit: u32) -> anyhow::Result<Vec<PublicPost>> {
        let query = posts_of(user_id, limit)?;
        let posts: Vec<StoredPost> = self.posts.query(query, Scope::Container, limit).await?;
        let user = self.get_user(user_id).await?;
        let posts = stream::iter(posts).map(async |post| {
            let counts = self.counts(&post.post_id).await?;
            anyhow::Ok(shortened(public(post, user.username.clone(), counts)))
        });
        posts.buffered(CONCURRENT_LOOKUPS).try_collect().await
    }

    async fn create_comment(
        &self,
        post_id: &str,
        author: &Person,
        content: &str,
    ) -> anyhow::Result<()> {
        self.upsert(&V1Item::Comment(StoredComment {
            id: CommentId::parse(fresh_id())?,
            post_id: PostId::parse(post_id.to_owned())?,
            user_id: author.id.clone(),
            content: content.to_owned(),
            creation_date: Timestamp::now(),
        }))
        .await
    }

    async fn list_comments(&self, post_id: &str, limit: u32) -> anyhow::Result<Vec<PublicComment>> {
        let query = children("comment", "ASC", limit)?;
        let comments: Vec<StoredComment> =
            self.posts.query(query, Scope::Partition(post_id), limit).await?;
        let comments = stream::iter(comments).map(async |comment| {
            let user = self.get_user(comment.user_id.as_str()).await?;
            anyhow::Ok(PublicComment {
                id: comment.id,
                post_id: comment.post_id,
                user_id: comment.user_id,
                user_username: user.username,
                content: comment.content,
                creation_date: comment.creation_date,
            })
        });
        comments.buffered(CONCURRENT_LOOKUPS).try_collect().await
    }

    async fn like_post(&self, post_id: &str, liker: &Person) -> anyhow::Result<()> {
        self.upsert(&V1Item::Like(StoredLike {
            id: fresh_id(),
            post_id: PostId::parse(post_id.to_owned())?,
            user_id: liker.id.clone(),
            creation_date: Timestamp::now(),
        }))
        .await
    }

    async fn list_likes(&self, post_id: &str, limit: u32) -> anyhow::Result<Vec<Like>> {
        let query = children("like", "DESC", limit)?;
        let likes: Vec<StoredLike> =
            self.posts.query(query, Scope::Partition(post_id), limit).await?;
        let likes = stream::iter(likes).map(async |like| {
            let user = self.get_user(like.user_id.as_str()).await?;
            anyhow::Ok(Like {
                user_id: like.user_id,
                user_username: user.username,
                creation_date: like.creation_date,
            })
        });
        likes.buffered(CONCURRENT_LOOKUPS).try_collect().await
    }

    async fn feed(&self, limit: u32) -> anyhow::Result<Vec<PublicPost>> {
        let posts: Vec<StoredPost> =
            self.posts.query(newest(limit)?, Scope::Container, limit).await?;
        let posts = stream::iter(posts).map(async |post| {
            let user = self.get_user(post.user_id.as_str()).await?;
            let counts = self.counts(&post.post_id).await?;
            anyhow::Ok(shortened(public(post, user.username, counts)))
        });
        posts.buffered(CONCURRENT_LOOKUPS).try_collect().await
    }
}

impl V1 {
    async fn upsert(&self, item: &V1Item) -> anyhow::Result<()> {
        let (partition, id) = item.place();
        Ok(self.posts.upsert(partition, id, item).await?)
    }

    /// Counts the comments and likes of a post, with a query for each.
    async fn counts(&self, post_id: &PostId) -> anyhow::Result<(u64, u64)> {
        let count = async |kind: &str| {
            let query = Query::from(
                "SELECT VALUE COUNT(1) FROM c WHERE c.postId = @postId AND c.type = @type",
            )
            .with_parameter("@postId", post_id.as_str())?
            .with_parameter("@type", kind)?;
            // The store counts page by page.
            let scope = Scope::Partition(post_id.as_str());
            let pages: Vec<u64> = self.posts.query(query, scope, 1).await?;
            anyhow::Ok(pages.into_iter().sum())
        };
        Ok((count("comment").await?, count("like").await?))
    }
}

impl V1Item {
    fn place(&self) -> (&str, &str) {
        match self {
            Self::Post(post) => (post.post_id.as_str(), &post.id),
            Self::Comment(comment) => (comment.post_id.as_str(), comment.id.as_str()),
            Self::Like(like) => (like.post_id.as_str(), &like.id),
        }
    }
}

fn item(item: &V1Item) -> anyhow::Result<NewItem> {
    let (partition, id) = item.place();
    NewItem::new("posts", partition, id, item)
}

fn public(
    post: StoredPost,
    user_username: Username,
    (comment_count, like_count): (u64, u64),
) -> PublicPost {
    PublicPost {
        id: post.id,
        post_id: post.post_id,
        user_id: post.user_id,
        user_username,
        title: post.title,
        content: post.content,
        comment_count,
        like_count,
        creation_date: post.creation_date,
    }
}
