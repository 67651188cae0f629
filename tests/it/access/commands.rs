//! Every command, called without a user, as another user and as the right user.

use std::collections::BTreeSet;

use axum::http::Method;
use serde_json::{Value, json};
use tributary_functions::http::HttpFunction;
use tributary_local::cosmos::{Fault, RequestKind};

use super::blog;
use crate::{
    callers::{PRINCIPAL_ID, call_as},
    common::complete::nothing_is_missing,
    common::openapi,
    expect::{free_of_charge, problem},
    world::World,
};

/// A command as a user sends it.
struct Command {
    function: &'static str,
    user: &'static str,
    method: String,
    path: String,
    body: Option<Value>,
    /// The status for the right user.
    status: u16,
}

/// Each command, in an order in which all of them succeed; `{comment}` is Bob's comment. A command
/// that is not in the table comes first, as `docs/api.md` has it, by Ann.
fn commands() -> Vec<Command> {
    let table = table();
    let functions = World::http_functions().into_iter().filter(is_command);
    let others = functions.filter(|one| !table.iter().any(|row| row.function == one.name));
    let others = others.filter_map(|function| {
        Some(Command {
            function: function.name,
            user: "ann",
            method: function.method.to_string(),
            path: openapi::path(&function, "ann", "p1")?,
            body: openapi::body(&function, "ann", "A text"),
            status: openapi::status(&function),
        })
    });
    let others: Vec<_> = others.collect();
    others.into_iter().chain(table).collect()
}

fn table() -> Vec<Command> {
    let command = |function, user, method: &str, path: &str, body, status| Command {
        function,
        user,
        method: method.to_owned(),
        path: path.to_owned(),
        body,
        status,
    };
    let name = |name| Some(json!({"username": name}));
    let post = |user| Some(json!({"userId": user, "title": "T", "content": "C"}));
    let comment = Some(json!({"userId": "bob", "content": "Well."}));
    vec![
        command("CreateUser", "cy", "POST", "/api/users", name("Cy"), 201),
        command("PutUser", "dan", "PUT", "/api/users/dan", name("Dan"), 201),
        command("PutUser", "ann", "PUT", "/api/users/ann", name("Anna"), 200),
        command("CreatePost", "ann", "POST", "/api/posts", post("ann"), 201),
        command("PutPost", "bob", "PUT", "/api/posts/p2", post("bob"), 201),
        command("PutPost", "ann", "PUT", "/api/posts/p1", post("ann"), 200),
        command("CreateComment", "bob", "POST", "/api/posts/p1/comments", comment, 201),
        command("DeleteComment", "bob", "DELETE", "/api/posts/p1/comments/{comment}", None, 204),
        command("LikePost", "ann", "PUT", "/api/posts/p1/likes/ann", None, 201),
        command("LikePost", "bob", "PUT", "/api/posts/p1/likes/bob", None, 200),
        command("UnlikePost", "bob", "DELETE", "/api/posts/p1/likes/bob", None, 204),
        command("DeletePost", "ann", "DELETE", "/api/posts/p1", None, 204),
    ]
}

/// Functions of no user: those for operators and crawlers, and the catalog of the WebStore.
fn is_of_no_user(function: &HttpFunction) -> bool {
    ["/api/dead-letters", "/api/categories", "/api/tags", "/api/reports", "/api/news"]
        .iter()
        .any(|route| function.route.starts_with(route))
}

/// Functions of a customer, queries included: `webstore/access.rs` has the table.
fn is_of_a_customer(function: &HttpFunction) -> bool {
    function.route.starts_with("/api/customers")
}

/// A command of a user of the blog.
fn is_command(function: &HttpFunction) -> bool {
    function.method != Method::GET && !is_of_no_user(function) && !is_of_a_customer(function)
}

/// Everything that is stored, but for what the store itself notes.
async fn everything(world: &World) -> BTreeSet<String> {
    let mut items = BTreeSet::new();
    for container in ["users", "posts", "feed"] {
        let stored = world.items(container).await;
        items.extend(stored.iter().map(|item| format!("{container} {item}")));
    }
    items
}

#[test]
fn the_table_has_every_command() {
    let listed: BTreeSet<_> = commands().iter().map(|command| command.function).collect();
    let functions = World::http_functions().into_iter().filter(is_command);
    let missing = functions.filter(|function| !listed.contains(function.name));
    let missing = missing.map(|HttpFunction { name, method, route, .. }| {
        format!(
            "docs/api.md is no example of {name}, or its path names more than a user and a post. Add \
             to table() in tests/it/access/commands.rs:\n\
             command(\"{name}\", \"ann\", \"{method}\", \"{route}\", None, 200),"
        )
    });
    nothing_is_missing(&missing.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_command_is_for_the_user_whom_it_names_and_for_nobody_else() {
    let (world, comment) = blog().await;
    for Command { function, user, method, path, body, status } in commands() {
        let path = path.replace("{comment}", &comment);
        let request = (method.as_str(), path.as_str(), body);
        let before = everything(&world).await;

        let answer = call_as(&world, None, request.clone()).await;
        assert_eq!(problem(&answer, 401)["type"], "urn:tributary:problem:unauthorized");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{function}");
        free_of_charge(&answer);

        // A caller that signs up with POST becomes a user under its own id: there is no other user.
        if function != "CreateUser" {
            // Ann has written the post, on which Bob has commented: neither may be the other.
            for other in ["eve", if user == "ann" { "bob" } else { "ann" }] {
                let answer = call_as(&world, Some(other), request.clone()).await;
                assert_eq!(problem(&answer, 403)["type"], "urn:tributary:problem:forbidden");
                if !matches!(function, "DeletePost" | "DeleteComment") {
                    free_of_charge(&answer);
                }
            }
        }
        assert_eq!(everything(&world).await, before, "{function}: a refused command wrote");

        let answer = call_as(&world, Some(user), request).await;
        assert_eq!(answer.status, status, "{function} by {user}: {}", answer.text);
    }
}

#[tokio::test]
async fn nobody_learns_anything_by_a_command_without_signing_in() {
    let (world, _) = blog().await;
    for function in World::http_functions() {
        let path = function.route.replace(['{', '}'], "");
        // Neither the body nor the path is good.
        for path in [path.clone(), path.replace("Id", "~")] {
            let answer = call_as(&world, None, (function.method.as_str(), &path, None)).await;
            let is_private = is_command(&function) || is_of_a_customer(&function);
            assert_eq!(answer.status == 401, is_private, "{}: {}", function.name, answer.text);
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found_by_anybody() {
    let (world, comment) = blog().await;
    for path in ["/api/posts/none", "/api/posts/p1/comments/none", "/api/posts/none/likes/eve"] {
        problem(&call_as(&world, Some("eve"), ("DELETE", path, None)).await, 404);
    }
    // The author of a post may not delete what others say of it.
    let path = format!("/api/posts/p1/comments/{comment}");
    problem(&call_as(&world, Some("ann"), ("DELETE", &path, None)).await, 403);
    // The condition of a caller without permission does not matter.
    let headers = [(PRINCIPAL_ID, "eve"), ("if-match", "\"another\"")];
    problem(&world.call("DELETE", "/api/posts/p1", &headers, None).await, 403);
    problem(&world.call("DELETE", &path, &headers, None).await, 403);
}

#[tokio::test]
async fn a_delete_whose_answer_was_lost_succeeds() {
    let (world, comment) = blog().await;
    let comment = format!("/api/posts/p1/comments/{comment}");
    for (kind, user, path) in [
        (RequestKind::Batch, "bob", comment.as_str()),
        (RequestKind::Batch, "bob", "/api/posts/p1/likes/bob"),
        (RequestKind::Replace, "ann", "/api/posts/p1"),
    ] {
        world.endpoint.inject(Fault::AnswerLost, kind, "posts", 1);
        call_as(&world, Some(user), ("DELETE", path, None)).await.expect(204);
        problem(&world.get(path).await, 404);
    }
}

#[tokio::test]
async fn another_users_post_is_not_taken_over_under_ones_own_name() {
    let (world, _) = blog().await;
    let mine = json!({"userId": "bob", "title": "Mine", "content": "now"});
    problem(&call_as(&world, Some("bob"), ("PUT", "/api/posts/p1", Some(mine))).await, 409);
    assert_eq!(world.get("/api/posts/p1").await.expect(200).json()["userId"], "ann");
}

#[tokio::test]
async fn an_operator_needs_no_user() {
    let (world, _) = blog().await;
    world.get("/api/dead-letters").await.expect(200);
    for (method, path) in [
        ("GET", "/api/dead-letters/none"),
        ("POST", "/api/dead-letters/none/replay"),
        ("DELETE", "/api/dead-letters/none"),
    ] {
        assert_ne!(call_as(&world, None, (method, path, None)).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn knowing_the_caller_costs_a_read_only_where_the_author_has_to_be_looked_up() {
    let (world, comment) = blog().await;
    let cost = async |user, request| {
        let mark = world.endpoint.request_count();
        let answer = call_as(&world, Some(user), request).await;
        assert!(answer.status.is_success(), "{}", answer.text);
        world.endpoint.requests_since(mark).len()
    };
    // Warm: the containers are known, and Ann has been seen.
    cost("ann", ("PUT", "/api/posts/p1/likes/ann", None)).await;
    let comment = format!("/api/posts/p1/comments/{comment}");
    assert_eq!(cost("cy", ("POST", "/api/users", Some(json!({"username": "Cy"})))).await, 3);
    assert_eq!(cost("bob", ("DELETE", &comment, None)).await, 3);
    assert_eq!(cost("bob", ("DELETE", "/api/posts/p1/likes/bob", None)).await, 2);
    assert_eq!(cost("ann", ("DELETE", "/api/posts/p1", None)).await, 2);
}
