//! The blog: `users` and `posts`.

use serde_json::{Value, json};
use tributary_local::cosmos::StoreRequest;

use super::{BATCH, CREATE, Example, PARTITIONS, QUERY, READ, Way, popular, text, way};
use crate::world::World;

const USERS: usize = 40;
const POSTS: usize = 120;

#[tokio::test]
async fn the_requests_of_the_blog_cost_what_the_validator_says() {
    let world = blog().await;
    let users = Example { container: "users", key: "/userId", requests: "users.requests.jsonl" };
    users.compare(&world, &OF_USERS).await;
    let posts = Example { container: "posts", key: "/postId", requests: "posts.requests.jsonl" };
    posts.compare(&world, &OF_POSTS).await;
    let feed = Example { container: "feed", key: "/type", requests: "feed.requests.jsonl" };
    feed.compare(&world, &OF_FEED).await;
}

const OF_USERS: [Way; 4] = [
    way("Q1 a user", READ, |user, _| ("GET", path("users", user, ""), None)),
    way("Q3 posts of a user", QUERY, |item, _| ("GET", path("users", item, "/posts"), None)),
    way("C1 create a user", |request| CREATE(request) && !is_of_name(request), |_, n| sign_up(n)),
    way(
        "C1 reserve the name of a user",
        |request| CREATE(request) && is_of_name(request),
        |_, n| sign_up(1_000 + n),
    ),
];

const OF_POSTS: [Way; 6] = [
    way("Q2 a post", READ, |post, _| ("GET", path("posts", post, ""), None)),
    way("Q4 comments of a post", QUERY, |item, _| ("GET", path("posts", item, "/comments"), None)),
    way("Q5 likes of a post", QUERY, |item, _| ("GET", path("posts", item, "/likes"), None)),
    way("C2 create a post", CREATE, |_, n| {
        let post = id("post", 100_000 + n);
        ("PUT", format!("/api/posts/{post}"), Some(a_post(n)))
    }),
    way("C3 comment, in one transaction with the count of the post", BATCH, |item, n| {
        ("POST", path("posts", item, "/comments"), Some(a_comment(n)))
    }),
    way("C4 like, in one transaction with the count of the post", BATCH, |item, n| {
        // These users have liked nothing yet.
        let user = id("user", USERS + n % 10);
        ("PUT", path("posts", item, &format!("/likes/{user}")), None)
    }),
];

const OF_FEED: [Way; 1] =
    [way("Q6 the newest posts", QUERY, |_, _| ("GET", "/api/feed".into(), None))];

fn is_of_name(request: &StoreRequest) -> bool {
    request.partition_key.as_deref().is_some_and(|key| key.contains("username:"))
}

fn sign_up(n: usize) -> (&'static str, String, Option<Value>) {
    ("POST", "/api/users".into(), Some(json!({"username": format!("new-user-{n:04}")})))
}

fn path(of: &str, item: &Value, rest: &str) -> String {
    let id = text(item, if of == "users" { "userId" } else { "postId" });
    format!("/api/{of}/{id}{rest}")
}

/// Users, posts and reactions: few users have written most posts, and few posts have most reactions.
async fn blog() -> World {
    let world = World::with_partitions(PARTITIONS).await;
    for user in 0..USERS + 10 {
        let name = json!({"username": format!("user-{user:03}")});
        world.put(&format!("/api/users/{}", id("user", user)), name).await.expect(201);
    }
    for n in 0..POSTS {
        world.put(&format!("/api/posts/{}", id("post", n)), a_post(n)).await.expect(201);
    }
    for n in 0..2 * POSTS {
        let post = format!("/api/posts/{}", id("post", popular(n, POSTS)));
        world.post(&format!("{post}/comments"), a_comment(n)).await.expect(201);
        let like = format!("{post}/likes/{}", id("user", n * 7 % USERS));
        assert!(world.call("PUT", &like, &[], None).await.status.is_success());
    }
    world.settle().await;
    world
}

fn a_post(n: usize) -> Value {
    let content = "c".repeat(200 + 10 * (n * 37 % 200));
    json!({"userId": id("user", popular(n, USERS)), "title": format!("Post {n}"), "content": content})
}

fn a_comment(n: usize) -> Value {
    json!({"userId": id("user", n * 7 % USERS), "content": "c".repeat(100 + n % 300)})
}

/// The id is as long as a UUID.
fn id(kind: &str, number: usize) -> String {
    format!("{kind}-{number:08}-7c3d-9f00-3a5d2b8e4c71")
}
