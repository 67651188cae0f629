//! The cost of each API request: store requests, request units, money. `docs/costs.md` has the
//! tables, which are the budget: a request that costs more fails here, and so does one that costs
//! less, until the documents say so.

mod at_rest;
mod background;
mod blog;
mod tables;

use axum::http::Method;
use serde_json::{Value, json};
use tributary_testing::budget::{self, request_units};

use self::blog::{AUTHOR, EDITED, POST, READER, RENAMED, WRITER, blog, comment, text};
use crate::world::World;

/// A request, as the tables name it.
struct Asked {
    id: &'static str,
    what: &'static str,
    method: Method,
    path: String,
    body: Option<Value>,
}

struct Cost {
    id: &'static str,
    what: &'static str,
    method: Method,
    path: String,
    /// Each of its store requests: its kind and its container.
    store_requests: Vec<String>,
    foreground_ru: f64,
    /// The cost of the projections of its changes.
    background_ru: f64,
}

#[tokio::test]
async fn every_request_costs_what_the_documents_say() {
    let world = blog().await;
    let mut costs: Vec<(usize, Cost)> = Vec::new();
    // The queries come first, before the commands change their results.
    let (queries, commands): (Vec<_>, Vec<_>) =
        asked().into_iter().enumerate().partition(|(_, asked)| asked.method == Method::GET);
    for (place, asked) in queries.into_iter().chain(commands) {
        let cost = if asked.method == Method::GET {
            cost(&world, asked).await
        } else {
            // An instance that has just seen the authors: one remembers them for half a minute.
            let instance = world.second_instance().await;
            warm(&instance).await;
            cost(&instance, asked).await
        };
        costs.push((place, cost));
    }
    costs.sort_by_key(|(place, _)| *place);
    let costs: Vec<Cost> = costs.into_iter().map(|(_, cost)| cost).collect();
    tables::hold(&costs);
}

/// All requests of the tables, in their order.
fn asked() -> Vec<Asked> {
    let mut all = Vec::new();
    let mut add = |id, what: &'static str, path: &str, body| {
        let method = what.trim_matches('`').split(' ').next().unwrap_or_default();
        let method = method.parse().unwrap();
        let path = format!("/api/{path}");
        all.push(Asked { id, what, method, path, body });
    };
    let name = |name: &str| Some(json!({"username": name}));
    let post = |letter: &str| Some(text(WRITER, letter));
    let author = format!("users/{}", AUTHOR.id());
    let reader = format!("users/{}", READER.id());
    let new_user = AUTHOR.next().id();
    let renamed = RENAMED.id();
    let a_post = format!("posts/{}", POST.id());
    let empty = format!("posts/{}", POST.next().id());
    let new_post = format!("posts/{}", EDITED.id());
    let like = format!("{a_post}/likes/{}", AUTHOR.id());
    let other_like = format!("{a_post}/likes/{}", READER.id());
    let list = |of: &str, what: &str| format!("{of}/{what}?limit=100");

    add("C1", "`POST /users`", "users", name("user00a"));
    add("C1", "`PUT /users/{userId}`, new", &format!("users/{new_user}"), name("user00b"));
    add("C1", "`PUT /users/{userId}`, renamed", &format!("users/{renamed}"), name("user00c"));
    add("Q1", "`GET /users/{userId}`", &author, None);
    add("C2", "`POST /posts`", "posts", post("c"));
    add("C2", "`PUT /posts/{postId}`, new", &new_post, post("c"));
    add("C2", "`PUT /posts/{postId}`, edited", &new_post, post("d"));
    add("Q2", "`GET /posts/{postId}`", &a_post, None);
    let comments = format!("{a_post}/comments");
    add("C3", "`POST /posts/{postId}/comments`", &comments, Some(comment(AUTHOR)));
    add("C4", "`PUT /posts/{postId}/likes/{userId}`", &like, None);
    add("C4", "`PUT /posts/{postId}/likes/{userId}`, again", &like, None);
    add("Q3", "`GET /users/{userId}/posts`, 25 of them", &list(&author, "posts"), None);
    add("Q3", "`GET /users/{userId}/posts`, empty", &list(&reader, "posts"), None);
    add("Q4", "`GET /posts/{postId}/comments`, 20 of them", &list(&a_post, "comments"), None);
    add("Q4", "`GET /posts/{postId}/comments`, empty", &list(&empty, "comments"), None);
    add("Q5", "`GET /posts/{postId}/likes`, 50 of them", &list(&a_post, "likes"), None);
    add("Q5", "`GET /posts/{postId}/likes`, empty", &list(&empty, "likes"), None);
    add("Q6", "`GET /feed`, 100 posts", "feed", None);
    add("", "`GET /posts/{postId}/likes/{userId}`", &other_like, None);
    add("", "`DELETE /posts/{postId}/likes/{userId}`", &like, None);
    add("", "`DELETE /posts/{postId}`", &new_post, None);
    all
}

/// Now the authors have been seen, and no change waits.
async fn warm(world: &World) {
    let post = POST.next().next().id();
    for user in [AUTHOR, WRITER] {
        let like = format!("/api/posts/{post}/likes/{}", user.id());
        assert!(world.call("PUT", &like, &[], None).await.status.is_success());
    }
    world.settle().await;
}

/// Sends a request, and adds up its costs.
async fn cost(world: &World, asked: Asked) -> Cost {
    let Asked { id, what, method, path, body } = asked;
    let cost = budget::cost(world, (method.as_str(), &path, body)).await;
    let foreground = cost.store_requests;
    assert!(foreground.iter().all(|request| request.names_partition_key), "{what} fans out");
    let background =
        if method == Method::GET { Vec::new() } else { budget::background(world).await };
    Cost {
        id,
        what,
        method,
        path,
        store_requests: foreground.iter().map(budget::kind).collect(),
        foreground_ru: request_units(&foreground),
        background_ru: request_units(&background),
    }
}
