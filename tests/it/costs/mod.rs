//! The cost of each API request: store requests and request units. `docs/costs.md` has the tables, which are
//! the budget: a request that costs more fails here, and so does one that costs less, until the documents say so.

mod blog;

use serde_json::{Value, json};
use tributary_testing::{
    budget::{self, hold_table, request_units},
    costs_file::{MeasuredCost, hold_costs},
};

use self::blog::{AUTHOR, EDITED, POST, READER, RENAMED, WRITER, blog, comment, text};
use crate::{
    budgets::path,
    world::{TestApp, World},
};

struct Asked {
    id: &'static str,
    /// The method and the path in backticks, and the case behind a comma.
    what: &'static str,
    path: String,
    body: Option<Value>,
}

impl Asked {
    fn is_query(&self) -> bool {
        self.what.starts_with("`GET ")
    }
}

#[tokio::test]
async fn every_request_costs_what_the_documents_say() {
    let world = blog().await;
    let mut measured = Vec::new();
    // The queries come first, before the commands change their results.
    let (queries, commands): (Vec<_>, Vec<_>) =
        asked().into_iter().enumerate().partition(|(_, asked)| asked.is_query());
    for (place, asked) in queries.into_iter().chain(commands) {
        let mut instance = world.clone();
        if !asked.is_query() {
            // An instance that has just seen the authors: one remembers them for half a minute.
            instance = world.second_instance().await;
            warm(&instance).await;
        }
        measured.push((place, cost(&instance, asked).await));
    }
    measured.sort_by_key(|(place, _)| *place);
    let mut table = String::from(
        "| request | what | store requests | request units | background | which |\n\
         | --- | --- | ---: | ---: | ---: | --- |\n",
    );
    let mut costs = Vec::new();
    for (_, (row, cost)) in measured {
        table.push_str(&row);
        costs.push(cost);
    }
    hold_table(path("docs/costs.md"), &table);
    hold_costs::<TestApp>("docs/costs.json", costs);
}

fn asked() -> Vec<Asked> {
    let mut all = Vec::new();
    let mut add = |id, what: &'static str, path: &str, body| {
        all.push(Asked { id, what, path: format!("/api/{path}"), body });
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

async fn cost(world: &World, asked: Asked) -> (String, MeasuredCost<'static>) {
    let Asked { id, what, path, body } = asked;
    let (method, request) = what.trim_start_matches('`').split_once(' ').unwrap();
    let sent = budget::cost(world, (method, &path, body)).await.store_requests;
    assert!(sent.iter().all(|request| request.names_partition_key), "{what} fans out");
    let n = sent.len();
    let ru = request_units(&sent);
    let later = request_units(&budget::background(world).await);
    let which = sent.iter().map(budget::kind).collect::<Vec<_>>().join(", ");
    let row = format!("| {id} | {what} | {n} | {ru:.2} | {later:.2} | {which} |\n");
    let cost =
        MeasuredCost { id, method, path, what: request, store_requests: n, request_units: ru };
    (row, cost)
}
