//! What each API request costs in store requests, held against the table in `docs/costs.md`.

use std::{fmt::Write, fs, path::Path};

use serde_json::{Value, json};

use crate::world::World;

/// Makes a request in a warm app, and gives a row of the table.
async fn row(
    world: &World,
    id: &str,
    what: &str,
    (method, path, headers, body): (&str, &str, &[(&str, &str)], Option<Value>),
) -> String {
    let mark = world.endpoint.request_count();
    let answer = world.call(method, path, headers, body).await;
    assert!(answer.status.is_success(), "{what}: {}", answer.text);
    let requests = world.endpoint.requests_since(mark);
    assert!(requests.iter().all(|request| request.names_partition_key), "{what} fans out");
    let kinds: Vec<String> = requests
        .iter()
        .map(|request| format!("{:?} {}", request.kind, request.container).to_lowercase())
        .collect();
    format!("| {id} | {what} | {} | {} |\n", requests.len(), kinds.join(", "))
}

#[tokio::test]
async fn the_table_of_store_requests_is_true() {
    let world = World::with_partitions(4).await;
    // Warm: the containers are known, and Ann has been seen.
    world.put("/api/users/ann", json!({"username": "Ann"})).await.expect(201);
    world.put("/api/users/bob", json!({"username": "Bob"})).await.expect(201);
    let text = json!({"userId": "ann", "title": "T", "content": "C"});
    world.put("/api/posts/empty", text.clone()).await.expect(201);
    world.get("/api/feed").await.expect(200);

    let edited = json!({"userId": "ann", "title": "T", "content": "edited"});
    let comment = json!({"userId": "ann", "content": "Well."});
    let name = |name: &str| Some(json!({"username": name}));
    let none: &[(&str, &str)] = &[];
    let mut table =
        String::from("| request | what | store requests | which |\n| --- | --- | ---: | --- |\n");
    for (id, what, request) in [
        ("C1", "`POST /users`", ("POST", "/api/users", none, name("Cy"))),
        ("C1", "`PUT /users/{userId}`, new", ("PUT", "/api/users/dan", none, name("Dan"))),
        ("C1", "`PUT /users/{userId}`, renamed", ("PUT", "/api/users/bob", none, name("Rob"))),
        ("Q1", "`GET /users/{userId}`", ("GET", "/api/users/ann", none, None)),
        ("C2", "`POST /posts`", ("POST", "/api/posts", none, Some(text.clone()))),
        ("C2", "`PUT /posts/{postId}`, new", ("PUT", "/api/posts/p", none, Some(text))),
        ("C2", "`PUT /posts/{postId}`, edited", ("PUT", "/api/posts/p", none, Some(edited))),
        ("Q2", "`GET /posts/{postId}`", ("GET", "/api/posts/p", none, None)),
        (
            "C3",
            "`POST /posts/{postId}/comments`",
            ("POST", "/api/posts/p/comments", none, Some(comment)),
        ),
        (
            "C4",
            "`PUT /posts/{postId}/likes/{userId}`",
            ("PUT", "/api/posts/p/likes/ann", none, None),
        ),
        (
            "C4",
            "`PUT /posts/{postId}/likes/{userId}`, again",
            ("PUT", "/api/posts/p/likes/ann", none, None),
        ),
        ("Q3", "`GET /users/{userId}/posts`, a page", ("GET", "/api/users/ann/posts", none, None)),
        ("Q3", "`GET /users/{userId}/posts`, empty", ("GET", "/api/users/dan/posts", none, None)),
        (
            "Q4",
            "`GET /posts/{postId}/comments`, a page",
            ("GET", "/api/posts/p/comments", none, None),
        ),
        (
            "Q4",
            "`GET /posts/{postId}/comments`, empty",
            ("GET", "/api/posts/empty/comments", none, None),
        ),
        ("Q5", "`GET /posts/{postId}/likes`, a page", ("GET", "/api/posts/p/likes", none, None)),
        ("Q5", "`GET /posts/{postId}/likes`, empty", ("GET", "/api/posts/empty/likes", none, None)),
        ("Q6", "`GET /feed`", ("GET", "/api/feed", none, None)),
        ("", "`GET /posts/{postId}/likes/{userId}`", ("GET", "/api/posts/p/likes/ann", none, None)),
        (
            "",
            "`DELETE /posts/{postId}/likes/{userId}`",
            ("DELETE", "/api/posts/p/likes/ann", none, None),
        ),
        ("", "`DELETE /posts/{postId}`", ("DELETE", "/api/posts/p", none, None)),
    ] {
        if what.starts_with("`GET /users/{userId}/posts`, a page") {
            world.settle().await;
        }
        write!(table, "{}", row(&world, id, what, request).await).unwrap();
    }
    println!("{table}");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/costs.md");
    let docs = fs::read_to_string(docs).unwrap();
    assert!(docs.contains(&table), "docs/costs.md should contain:\n\n{table}");
}
