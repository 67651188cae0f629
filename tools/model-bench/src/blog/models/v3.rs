//! V3: the product, through its HTTP API, in this process: no socket, no Functions host.

use std::sync::Arc;

use anyhow::{Context, ensure};
use axum::{
    Router,
    body::Body,
    http::{Method, Request, header},
};
use http_body_util::BodyExt;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tower::ServiceExt;
use tributary::{
    blog::model::{
        Author, Comment, CommentContent, Like as StoredLike, Post, PostContent, PostCopy, PostText,
        PostsItem, PublicComment, PublicPost, Title, Username, UsersItem,
    },
    blog::projections::NewestPosts,
};
use tributary_functions::{
    app::AppOptions,
    config::Settings,
    cosmos::Cosmos,
    projection::window::{Member, Window, WindowHead, WindowItem},
};
use tributary_local::cosmos::ContainersFile;

use super::{Like, Model, ModelUser, NewItem};
use crate::blog::{
    data::{DataSet, Person, PostPlan},
    request::ModelVersion,
};

/// The app.
pub(crate) struct V3 {
    router: Router,
}

impl Model for V3 {
    const VERSION: ModelVersion = ModelVersion::V3;

    fn containers() -> anyhow::Result<ContainersFile> {
        let text = include_str!("../../../../../infra/containers.json");
        Ok(ContainersFile::parse(text)?)
    }

    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self> {
        let app = tributary::program().build(cosmos, AppOptions::default(), Settings::NONE)?;
        Ok(Self { router: app.into_handler().into_router()? })
    }

    /// Each comment and like was counted in turn, so the post has a version for each.
    fn items_of(data: &DataSet, plan: &PostPlan) -> anyhow::Result<Vec<NewItem>> {
        let partition = plan.id.as_str();
        let mut post = Post { version: 1, ..post_of(data, plan)? };
        let mut items = Vec::new();
        for comment in data.comments(plan)? {
            post.version += 1;
            let author = author_of(comment.author);
            let content = CommentContent::parse(comment.content)?;
            let mut comment =
                Comment::new(&plan.id, comment.id, &author, &content, comment.created);
            comment.post_version = post.version;
            let id = comment.public.id.to_string();
            items.push(NewItem::new("posts", partition, &id, &PostsItem::Comment(comment))?);
        }
        for like in data.likes(plan) {
            post.version += 1;
            let mut like = StoredLike::new(&plan.id, &author_of(like.liker), like.created);
            like.post_version = post.version;
            let id = like.public.id.clone();
            items.push(NewItem::new("posts", partition, &id, &PostsItem::Like(like))?);
        }
        let copy = PostCopy::for_users(&post);
        let author = copy.public.user_id.clone();
        let id = copy.public.id.clone();
        items.push(NewItem::new("users", author.as_str(), &id, &UsersItem::Post(copy))?);
        items.push(NewItem::new("posts", partition, partition, &PostsItem::Post(post))?);
        Ok(items)
    }

    /// Returns the feed.
    fn items_of_all(data: &DataSet) -> anyhow::Result<Vec<NewItem>> {
        let mut newest: Vec<&PostPlan> = data.posts.iter().collect();
        newest.sort_unstable_by_key(|post| std::cmp::Reverse(post.created()));
        let partition = NewestPosts::PARTITION;
        let capacity = NewestPosts::CAPACITY as usize;
        newest.truncate(capacity);
        let mut items = Vec::new();
        let mut head = WindowHead::default();
        for plan in newest {
            let post = post_of(data, plan)?;
            let creation_date = post.public.creation_date;
            let id = post.public.id.clone();
            head = head.admit(Member { creation_date, id }, capacity);
            let copy = WindowItem::new(partition, PostCopy::for_feed(&post));
            items.push(NewItem::new("feed", partition, plan.id.as_str(), &copy)?);
        }
        items.push(NewItem::new(
            "feed",
            partition,
            WindowHead::ID,
            &WindowItem::new(partition, head),
        )?);
        Ok(items)
    }

    async fn put_user(&self, person: &Person) -> anyhow::Result<()> {
        let body = json!({ "username": person.username });
        self.call::<Value>(Method::PUT, &format!("/api/users/{}", person.id), Some(body)).await?;
        Ok(())
    }

    async fn create_user(&self, username: &Username) -> anyhow::Result<Person> {
        let body = json!({ "username": username });
        let user: ModelUser = self.call(Method::POST, "/api/users", Some(body)).await?;
        Ok(Person { id: user.id, username: user.username })
    }

    async fn get_user(&self, user_id: &str) -> anyhow::Result<ModelUser> {
        self.get(&format!("/api/users/{user_id}")).await
    }

    async fn create_post(
        &self,
        author: &Person,
        (title, content): (&str, &str),
    ) -> anyhow::Result<String> {
        let body = json!({ "userId": author.id, "title": title, "content": content });
        let post: PublicPost = self.call(Method::POST, "/api/posts", Some(body)).await?;
        Ok(post.id)
    }

    async fn get_post(&self, post_id: &str) -> anyhow::Result<PublicPost> {
        self.get(&format!("/api/posts/{post_id}")).await
    }

    async fn list_user_posts(&self, user_id: &str, limit: u32) -> anyhow::Result<Vec<PublicPost>> {
        self.list(&format!("/api/users/{user_id}/posts?limit={limit}")).await
    }

    async fn create_comment(
        &self,
        post_id: &str,
        author: &Person,
        content: &str,
    ) -> anyhow::Result<()> {
        let body = json!({ "userId": author.id, "content": content });
        let path = format!("/api/posts/{post_id}/comments");
        self.call::<Value>(Method::POST, &path, Some(body)).await?;
        Ok(())
    }

    async fn list_comments(&self, post_id: &str, limit: u32) -> anyhow::Result<Vec<PublicComment>> {
        self.list(&format!("/api/posts/{post_id}/comments?limit={limit}")).await
    }

    async fn like_post(&self, post_id: &str, liker: &Person) -> anyhow::Result<()> {
        let path = format!("/api/posts/{post_id}/likes/{}", liker.id);
        self.call::<Value>(Method::PUT, &path, None).await?;
        Ok(())
    }

    async fn list_likes(&self, post_id: &str, limit: u32) -> anyhow::Result<Vec<Like>> {
        self.list(&format!("/api/posts/{post_id}/likes?limit={limit}")).await
    }

    async fn feed(&self, limit: u32) -> anyhow::Result<Vec<PublicPost>> {
        self.list(&format!("/api/feed?limit={limit}")).await
    }
}

impl V3 {
    async fn list<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Vec<T>> {
        #[derive(Deserialize)]
        struct List<T> {
            items: Vec<T>,
        }
        let List { items } = self.get(path).await?;
        Ok(items)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.call(Method::GET, path, None).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<T> {
        let mut request = Request::builder().method(&method).uri(path);
        let body = match body {
            Some(json) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(json.to_string())
            }
            None => Body::empty(),
        };
        let Ok(response) = self.router.clone().oneshot(request.body(body)?).await;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let said = String::from_utf8_lossy(&body);
        ensure!(status.is_success(), "the app has answered {method} {path} with {status}: {said}");
        serde_json::from_slice(&body).with_context(|| format!("the answer to {method} {path}"))
    }
}

/// Returns a post after all its comments and likes.
fn post_of(data: &DataSet, plan: &PostPlan) -> anyhow::Result<Post> {
    let author = author_of(data.author(plan));
    let (title, content) = data.text_of(plan);
    let text = PostText {
        user_id: author.user_id.clone(),
        title: Title::parse(title)?,
        content: PostContent::parse(content)?,
    };
    let mut post = Post::new(plan.id.clone(), &text, &author).created_at(plan.created());
    post.public.comment_count = plan.comments.into();
    post.public.like_count = plan.likes.into();
    post.version = 1 + u64::from(plan.comments) + u64::from(plan.likes);
    Ok(post)
}

/// Returns a user that has never been renamed.
fn author_of(person: &Person) -> Author {
    let Person { id, username } = person;
    Author { user_id: id.clone(), username: username.clone(), version: 1 }
}
