//! V3: the product, through its HTTP API, in this process: no socket, no Functions host.

use std::sync::Arc;

use anyhow::{Context, ensure};
use axum::{Router, body::Body};
use http::{Method, Request, header};
use http_body_util::BodyExt;
use serde::Serialize;
use serde_json::{Value, json};
use tower::ServiceExt;
use tributary::blog::{
    model::{
        Author, Comment, CommentContent, CommentId, Like, Post, PostContent, PostCopy, PostId,
        PostText, PostsItem, Title, UserId, Username, UsersItem,
    },
    projections::NewestPosts,
};
use tributary_functions::{
    app::AppOptions,
    config::Settings,
    cosmos::Cosmos,
    projection::window::{Member, Window, WindowHead, WindowItem},
};
use tributary_local::cosmos::ContainersFile;

use super::{
    Model, NewItem,
    data::{DataSet, Person, PostPlan},
    requests::{COMMENTS, FEED, LIKES, ModelCall, POSTS_OF_A_USER},
};

pub(super) struct V3(Router);

impl Model for V3 {
    const NAME: &'static str = "V3";

    fn containers() -> anyhow::Result<ContainersFile> {
        ContainersFile::parse(include_str!("../../../../infra/containers.json"))
    }

    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self> {
        let app = tributary::program().build(cosmos, AppOptions::default(), Settings::NONE)?;
        Ok(Self(app.into_handler().into_router()?))
    }

    /// Each comment and like was counted in turn, so the post has a version for each.
    fn items_of(data: &DataSet, plan: &PostPlan) -> anyhow::Result<Vec<NewItem>> {
        let id = PostId::parse(plan.id.clone())?;
        let mut post = Post { version: 1, ..post_of(data, plan)? };
        let mut items = Vec::new();
        for new in data.comments(plan) {
            post.version += 1;
            let author = author_of(&new.author)?;
            let content = CommentContent::parse(new.content)?;
            let comment = CommentId::parse(new.id)?;
            let mut comment = Comment::new(&id, comment, &author, &content, new.created);
            comment.post_version = post.version;
            items.push(item("posts", &plan.id, &PostsItem::Comment(comment))?);
        }
        for new in data.likes(plan) {
            post.version += 1;
            let mut like = Like::new(&id, &author_of(&new.liker)?, new.created);
            like.post_version = post.version;
            items.push(item("posts", &plan.id, &PostsItem::Like(like))?);
        }
        let copy = PostCopy::for_users(&post);
        items.push(item("users", &data.author(plan).id, &UsersItem::Post(copy))?);
        items.push(item("posts", &plan.id, &PostsItem::Post(post))?);
        Ok(items)
    }

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
            head = head.admit(Member { creation_date, id: post.public.id.clone() }, capacity);
            let copy = WindowItem::new(partition, PostCopy::for_feed(&post));
            items.push(item("feed", partition, &copy)?);
        }
        items.push(item("feed", partition, &WindowItem::new(partition, head))?);
        Ok(items)
    }

    async fn put_user(&self, person: &Person) -> anyhow::Result<Value> {
        let path = format!("/api/users/{}", person.id);
        self.call(Method::PUT, &path, Some(json!({"username": person.username}))).await
    }

    async fn answer(&self, call: ModelCall) -> anyhow::Result<Value> {
        let list = |path: String, limit| (Method::GET, format!("{path}?limit={limit}"), None);
        let (method, path, body) = match call {
            ModelCall::CreateUser { username } => {
                (Method::POST, "/api/users".to_owned(), Some(json!({"username": username})))
            }
            ModelCall::GetUser(user) => (Method::GET, format!("/api/users/{user}"), None),
            ModelCall::CreatePost { author, text } => {
                let body =
                    json!({"userId": author.id, "title": text.title, "content": text.content});
                (Method::POST, "/api/posts".to_owned(), Some(body))
            }
            ModelCall::GetPost(post) => (Method::GET, format!("/api/posts/{post}"), None),
            ModelCall::ListUserPosts(user) => {
                list(format!("/api/users/{user}/posts"), POSTS_OF_A_USER)
            }
            ModelCall::CreateComment { post, author, content } => {
                let body = json!({"userId": author.id, "content": content});
                (Method::POST, format!("/api/posts/{post}/comments"), Some(body))
            }
            ModelCall::ListComments(post) => list(format!("/api/posts/{post}/comments"), COMMENTS),
            ModelCall::LikePost { post, liker } => {
                (Method::PUT, format!("/api/posts/{post}/likes/{}", liker.id), None)
            }
            ModelCall::ListLikes(post) => list(format!("/api/posts/{post}/likes"), LIKES),
            ModelCall::GetFeed => list("/api/feed".to_owned(), FEED),
        };
        let mut answer = self.call(method, &path, body).await?;
        Ok(match answer["items"].take() {
            Value::Null => answer,
            items => items,
        })
    }
}

impl V3 {
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let mut request = Request::builder().method(&method).uri(path);
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let Ok(response) = self.0.clone().oneshot(request.body(body)?).await;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&body);
        ensure!(status.is_success(), "{method} {path} was answered with {status}: {text}");
        serde_json::from_slice(&body).with_context(|| format!("the answer to {method} {path}"))
    }
}

fn item(
    container: &'static str,
    partition: &str,
    item: &impl Serialize,
) -> anyhow::Result<NewItem> {
    Ok(NewItem::new(container, partition, serde_json::to_value(item)?))
}

/// Returns a post after all its comments and likes.
fn post_of(data: &DataSet, plan: &PostPlan) -> anyhow::Result<Post> {
    let author = author_of(data.author(plan))?;
    let text = data.text_of(plan);
    let text = PostText {
        user_id: author.user_id.clone(),
        title: Title::parse(text.title)?,
        content: PostContent::parse(text.content)?,
    };
    let id = PostId::parse(plan.id.clone())?;
    let mut post = Post::new(id, &text, &author).created_at(plan.created());
    post.public.comment_count = plan.comments.into();
    post.public.like_count = plan.likes.into();
    post.version = 1 + u64::from(plan.comments) + u64::from(plan.likes);
    Ok(post)
}

/// Returns a user that has never been renamed.
fn author_of(person: &Person) -> anyhow::Result<Author> {
    let user_id = UserId::parse(person.id.clone())?;
    Ok(Author { user_id, username: Username::parse(person.username.clone())?, version: 1 })
}
