//! V3: the product, through its HTTP API, in this process: no socket, no Functions host.

use std::{cmp::Reverse, sync::Arc};

use anyhow::{Context, ensure};
use axum::{Router, body::Body};
use http::{Method, Request};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;
use tributary::blog::{
    model::{Post, PostCopy, UsersItem},
    projections::NewestPosts,
};
use tributary_functions::{
    app::AppOptions,
    config::Settings,
    cosmos::Cosmos,
    projection::window::{Member, Window, WindowHead, WindowItem},
};
use tributary_local::{client::Call, cosmos::ContainersFile};

use super::{
    Model, NewItem,
    data::{DataSet, Person},
    requests::{
        COMMENTS, FEED, LIKES, ModelCall, POSTS_OF_A_USER,
        RequestKind::{C1, C2, C3, C4, Q1, Q2, Q3, Q4, Q5, Q6},
    },
};

pub(super) struct V3(Router);

impl Model for V3 {
    const NUMBER: usize = 3;

    fn containers() -> anyhow::Result<ContainersFile> {
        ContainersFile::parse(include_str!("../../../../infra/containers.json"))
    }

    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self> {
        let app = tributary::program().build(cosmos, AppOptions::default(), Settings::NONE)?;
        Ok(Self(app.into_handler().into_router()?))
    }

    fn items_of(post: &[Value]) -> anyhow::Result<Vec<NewItem>> {
        let stored = stored(post);
        let post: Post = serde_json::from_value(stored[0].clone())?;
        let id = &post.public.id;
        let copy = serde_json::to_value(UsersItem::Post(PostCopy::for_users(&post)))?;
        let mut items = vec![("users", post.public.user_id.to_string(), copy)];
        items.extend(stored.into_iter().map(|item| ("posts", id.clone(), item)));
        Ok(items)
    }

    fn items_of_all(data: &DataSet) -> anyhow::Result<Vec<NewItem>> {
        let mut newest: Vec<_> = data.posts.iter().collect();
        newest.sort_unstable_by_key(|post| Reverse(post[0]["creationDate"].to_string()));
        let partition = NewestPosts::PARTITION;
        let capacity = NewestPosts::CAPACITY as usize;
        let item = |item: Value| ("feed", partition.to_owned(), item);
        let mut items = Vec::new();
        let mut head = WindowHead::default();
        for post in newest.into_iter().take(capacity) {
            let post: Post = serde_json::from_value(stored(post)[0].take())?;
            let creation_date = post.public.creation_date;
            head = head.admit(Member { creation_date, id: post.public.id.clone() }, capacity);
            let copy = WindowItem::new(partition, PostCopy::for_feed(&post));
            items.push(item(serde_json::to_value(copy)?));
        }
        items.push(item(serde_json::to_value(WindowItem::new(partition, head))?));
        Ok(items)
    }

    async fn put_user(&self, Person { id, username }: &Person) -> anyhow::Result<Value> {
        self.call(Call::put(format!("/api/users/{id}"), json!({"username": username}))).await
    }

    async fn answer(&self, call: ModelCall) -> anyhow::Result<Value> {
        let ModelCall { kind, user: Person { id: user, username }, post, text } = call;
        let get = |path: String| Call::get(format!("/api/{path}"));
        let call = match kind {
            C1 => Call::post("/api/users", json!({"username": username})),
            Q1 => get(format!("users/{user}")),
            C2 => {
                let body = json!({"userId": user, "title": text.title, "content": text.content});
                Call::post("/api/posts", body)
            }
            Q2 => get(format!("posts/{post}")),
            Q3 => get(format!("users/{user}/posts?limit={POSTS_OF_A_USER}")),
            C3 => {
                let body = json!({"userId": user, "content": text.content});
                Call::post(format!("/api/posts/{post}/comments"), body)
            }
            Q4 => get(format!("posts/{post}/comments?limit={COMMENTS}")),
            C4 => Call::new(Method::PUT, format!("/api/posts/{post}/likes/{user}")),
            Q5 => get(format!("posts/{post}/likes?limit={LIKES}")),
            Q6 => get(format!("feed?limit={FEED}")),
        };
        let mut answer = self.call(call).await?;
        Ok(match answer["items"].take() {
            Value::Null => answer,
            items => items,
        })
    }
}

impl V3 {
    async fn call(&self, call: Call) -> anyhow::Result<Value> {
        let Call { method, path, headers, body } = call;
        let mut request = Request::builder().method(&method).uri(&path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(body.map_or_else(Body::empty, Body::from))?;
        let Ok(response) = self.0.clone().oneshot(request).await;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&body);
        ensure!(status.is_success(), "{method} {path} was answered with {status}: {text}");
        serde_json::from_slice(&body).with_context(|| format!("the answer to {method} {path}"))
    }
}

/// Of users that were never renamed. Each comment and like was counted, so the post has a version for each.
fn stored(post: &[Value]) -> Vec<Value> {
    let mut items = post.to_vec();
    for (n, item) in items.iter_mut().enumerate() {
        item["usernameVersion"] = 1.into();
        match n {
            0 => item["version"] = post.len().into(),
            _ => item["postVersion"] = (n + 1).into(),
        }
        if item["type"] == "like" {
            item["id"] = format!("like:{}", item["userId"].as_str().unwrap_or_default()).into();
        }
    }
    items
}
