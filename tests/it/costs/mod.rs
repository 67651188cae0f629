//! What each API request costs: store requests, request units, money. `docs/costs.md` has the
//! tables, which are the budget: a request that costs more fails here, and so does one that costs
//! less, until the documents say so.

mod at_rest;
mod background;
mod blog;
pub(crate) mod tables;

use std::fmt::Write as _;

use axum::http::Method;
use serde_json::{Value, json};
use tributary_local::cosmos::{RequestKind, StoreRequest};

use self::blog::{AUTHOR, EDITED, POST, READER, RENAMED, WRITER, blog, comment, text};
use crate::{openapi, world::World};

/// A request, as the tables name it.
struct Asked {
    id: &'static str,
    what: &'static str,
    method: Method,
    path: String,
    body: Option<Value>,
}

/// What a request has cost.
struct Cost {
    id: &'static str,
    what: &'static str,
    /// Each of its store requests: what it did, and where.
    store_requests: Vec<String>,
    foreground_ru: f64,
    /// What the projections did with what it changed.
    background_ru: f64,
}

#[tokio::test]
async fn every_request_costs_what_the_documents_say() {
    let world = blog().await;
    let mut costs: Vec<(usize, Cost)> = Vec::new();
    // The queries first, before the commands change what they find.
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
    tables::check(&costs);
}

/// All requests of the tables, in their order.
fn asked() -> Vec<Asked> {
    let mut all = Vec::new();
    let mut add = |id, what: &'static str, path: &str, body| {
        let method = what.trim_matches('`').split(' ').next().unwrap_or_default();
        let (method, path) = (method.parse().unwrap(), format!("/api/{path}"));
        all.push(Asked { id, what, method, path, body });
    };
    let name = |name: &str| Some(json!({"username": name}));
    let post = |letter: &str| Some(text(WRITER, letter));
    let (author, reader) = (format!("users/{}", AUTHOR.id()), format!("users/{}", READER.id()));
    let (new_user, renamed) = (AUTHOR.next().id(), RENAMED.id());
    let (a_post, empty) = (format!("posts/{}", POST.id()), format!("posts/{}", POST.next().id()));
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

/// The authors have been seen, and nothing is left to be delivered.
async fn warm(world: &World) {
    let post = POST.next().next().id();
    for user in [AUTHOR, WRITER] {
        let like = format!("/api/posts/{post}/likes/{}", user.id());
        assert!(world.call("PUT", &like, &[], None).await.status.is_success());
    }
    world.settle().await;
}

/// Asks, and adds up.
async fn cost(world: &World, asked: Asked) -> Cost {
    let Asked { id, what, method, path, body } = asked;
    let mark = world.endpoint.request_count();
    let answer = world.call(method.as_str(), &path, &[], body).await;
    assert!(answer.status.is_success(), "{what}: {}", answer.text);
    let foreground = world.endpoint.requests_since(mark);
    assert!(foreground.iter().all(|request| request.names_partition_key), "{what} fans out");
    let foreground_ru = charge(&foreground);
    let said: f64 = answer.header("x-ms-request-charge").parse().unwrap();
    assert!((said - foreground_ru).abs() < 0.01, "{what} says {said} for {foreground_ru}");

    let mark = world.endpoint.request_count();
    if method != Method::GET {
        world.settle().await;
    }
    let background = world.endpoint.requests_since(mark).into_iter().filter(is_caused_by_a_change);
    Cost {
        id,
        what,
        store_requests: foreground.iter().map(kind).collect(),
        foreground_ru,
        background_ru: charge(&background.collect::<Vec<_>>()),
    }
}

/// Sends a request and holds it against its budget, as "2 requests, 9.26 RU: read users, replace
/// users". The containers should be known before.
pub(crate) async fn budget(
    world: &World,
    (method, path, body): (&str, &str, Option<Value>),
    budget: &str,
) {
    let mark = world.endpoint.request_count();
    let answer = world.call(method, path, &[], body).await;
    assert!(answer.status.is_success(), "{method} {path}: {}", answer.text);
    openapi::check(method, path, &answer);
    let requests = world.endpoint.requests_since(mark);
    assert!(requests.iter().all(|one| one.names_partition_key), "{method} {path} fans out");
    let kinds: Vec<String> = requests.iter().map(kind).collect();
    let (n, ru) = (requests.len(), charge(&requests));
    let s = if n == 1 { "" } else { "s" };
    let cost = format!("{n} request{s}, {ru:.2} RU: {}", kinds.join(", "));
    assert_eq!(cost, budget, "{method} {path}: the first is what it costs, the second its budget");
}

/// Sends requests, each as method, words, path and body, and holds what they cost, in the foreground
/// and in the background, against the table `| {of} request |` of a document.
pub(crate) async fn budget_table(
    world: &World,
    of: &str,
    requests: impl IntoIterator<Item = (&str, &str, String, Option<Value>)>,
    document: &str,
) {
    let mut table = format!(
        "| {of} request | what | store requests | request units | background | which |\n\
         | --- | --- | ---: | ---: | ---: | --- |\n"
    );
    for (method, what, path, body) in requests {
        let mark = world.endpoint.request_count();
        let answer = world.call(method, &path, &[], body).await;
        assert!(answer.status.is_success(), "{what}: {}", answer.text);
        openapi::check(method, &path, &answer);
        let foreground = world.endpoint.requests_since(mark);
        let mark = world.endpoint.request_count();
        world.settle().await;
        let after = world.endpoint.requests_since(mark).into_iter();
        let background: Vec<_> = after.filter(is_caused_by_a_change).collect();
        let mut kinds = Vec::new();
        for request in &foreground {
            let fans_out = if request.names_partition_key { "" } else { " in all partitions" };
            let kind = format!("{}{fans_out}", kind(request));
            if fans_out.is_empty() || kinds.last() != Some(&kind) {
                kinds.push(kind);
            }
        }
        let (n, which) = (foreground.len(), in_short(&kinds).join(", "));
        let (ru, later) = (charge(&foreground), charge(&background));
        writeln!(table, "| {method} | {what} | {n} | {ru:.2} | {later:.2} | {which} |").unwrap();
    }
    println!("{table}");
    let wrong = tables::differences(&table, &tables::document(document)).join("\n");
    assert!(wrong.is_empty(), "{document} has another budget; the table is above:\n{wrong}");
}

/// The kinds in their order, many of one kind in one word.
fn in_short(kinds: &[String]) -> Vec<String> {
    let words = kinds.chunk_by(|one, next| one == next).flat_map(|same| match same.len() {
        0..10 => same.to_vec(),
        n => vec![format!("{n} × {}", same[0])],
    });
    words.collect()
}

/// What a store request does, and where.
fn kind(request: &StoreRequest) -> String {
    format!("{:?} {}", request.kind, request.container).to_lowercase()
}

/// Leases and looks at a change feed where nothing is new cost by the hour, not by the change.
pub(crate) fn is_caused_by_a_change(request: &StoreRequest) -> bool {
    let status = request.answer.as_ref().map_or(0, |answer| answer.status);
    request.container != "leases" && (request.kind != RequestKind::ChangeFeed || status == 200)
}

pub(crate) fn charge(requests: &[StoreRequest]) -> f64 {
    let answers = requests.iter().filter_map(|request| request.answer.as_ref());
    answers.fold(0.0, |sum, answer| sum + answer.request_units)
}
