//! Errors as problem documents, and the charge that answers carry.

use std::collections::BTreeSet;

use azure_data_cosmos::{AccountEndpoint, AccountReference};
use futures::future::join_all;
use serde_json::json;
use tributary_functions::{app::Options, cosmos::Cosmos};
use tributary_local::cosmos::WELL_KNOWN_KEY;

use super::expect::{bad_fields, charged, free_of_charge, problem};
use crate::{blog::given, world::World};

/// Every path of the blog and its methods.
const ROUTES: [(&str, &[&str]); 10] = [
    ("/api/users", &["POST"]),
    ("/api/users/ann", &["GET", "PUT"]),
    ("/api/users/ann/posts", &["GET"]),
    ("/api/posts", &["POST"]),
    ("/api/posts/p1", &["DELETE", "GET", "PUT"]),
    ("/api/posts/p1/comments", &["GET", "POST"]),
    ("/api/posts/p1/comments/c1", &["DELETE", "GET"]),
    ("/api/posts/p1/likes", &["GET"]),
    ("/api/posts/p1/likes/bob", &["DELETE", "GET", "PUT"]),
    ("/api/feed", &["GET"]),
];

#[tokio::test]
async fn a_method_that_a_route_does_not_have_is_answered_with_those_it_has() {
    let world = World::new().await;
    for (path, methods) in ROUTES {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PURGE"] {
            let answer = world.call(method, path, &[], None).await;
            if methods.contains(&method) {
                assert_ne!(answer.status, 405, "{method} {path}");
                continue;
            }
            problem(&answer, 405);
            let allow: BTreeSet<&str> = answer.header("allow").split(',').map(str::trim).collect();
            // Who may GET may HEAD.
            let wanted = methods.iter().copied().chain(methods.contains(&"GET").then_some("HEAD"));
            assert_eq!(allow, wanted.collect(), "{method} {path}");
            free_of_charge(&answer);
        }
    }
}

#[tokio::test]
async fn a_path_that_no_route_has_is_not_found() {
    let world = World::new().await;
    for path in [
        "/api/nothing",
        "/api/users/",
        "/api/posts/p1/comments/c1/likes",
        "/api/Users/ann",
        "/api/users/ann/comments",
        "/api/feed/1",
        "/users/ann",
    ] {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let answer = world.call(method, path, &[], None).await;
            problem(&answer, 404);
            free_of_charge(&answer);
        }
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_is_a_503_with_retry_after() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", nobody.local_addr().unwrap());
    drop(nobody);
    let account = AccountReference::with_authentication_key(
        AccountEndpoint::from(address.parse::<azure_core::http::Url>().unwrap()),
        WELL_KNOWN_KEY,
    );
    let mut world = World::new().await;
    let cosmos = Cosmos::new(account, None, "tributary".into());
    world.router = World::app(&cosmos, Options::default()).into_handler().into_router().unwrap();
    let answer = world.get("/api/users/ann").await;
    problem(&answer, 503);
    assert!(answer.header("retry-after").parse::<u32>().is_ok(), "{answer:?}");
    problem(&given::raw(&world, ("POST", "/api/users"), None, "{}").await, 415);
}

#[tokio::test]
async fn each_status_has_its_type() {
    let world = given::blog().await;
    given::comment_once(&world, "key", "p1", "bob", "Nice").await.expect(201);
    let mut types = BTreeSet::new();
    for (answer, status) in [
        (given::raw(&world, ("POST", "/api/users"), Some("application/json"), "{").await, 400),
        (world.post("/api/users", json!({})).await, 400),
        (world.get("/api/users/nobody").await, 404),
        (world.delete("/api/feed").await, 405),
        (given::user(&world, "bob", "Ann").await, 409),
        (world.call("DELETE", "/api/posts/p1", &[("if-match", "\"0\"")], None).await, 412),
        (
            given::raw(
                &world,
                ("POST", "/api/users"),
                Some("application/json"),
                " ".repeat(1024 * 1024 + 1),
            )
            .await,
            413,
        ),
        (given::raw(&world, ("POST", "/api/users"), None, "{}").await, 415),
    ] {
        types.insert(problem(&answer, status)["type"].to_string());
    }
    assert_eq!(types.len(), 8, "{types:?}");
}

#[tokio::test]
async fn errors_stand_only_in_what_failed_validation() {
    let world = given::blog().await;
    let invalid = world.post("/api/users", json!({"username": 1})).await;
    assert_eq!(bad_fields(&invalid), ["username"]);
    for answer in [world.get("/api/users/nobody").await, given::user(&world, "bob", "Ann").await] {
        assert_eq!(answer.json().get("errors"), None);
    }
}

#[tokio::test]
async fn a_bad_id_in_the_path_is_named() {
    let world = World::new().await;
    for (path, field) in [
        ("/api/users/-", "userId"),
        ("/api/users/-/posts", "userId"),
        ("/api/posts/-", "postId"),
        ("/api/posts/-/comments", "postId"),
        ("/api/posts/-/likes", "postId"),
        ("/api/posts/-/comments/c", "postId"),
        ("/api/posts/p/comments/-", "commentId"),
        ("/api/posts/-/likes/u", "postId"),
        ("/api/posts/p/likes/-", "userId"),
        ("/api/posts/p/likes/%FF", "userId"),
    ] {
        let answer = world.get(path).await;
        assert_eq!(bad_fields(&answer), [field], "{path}");
        free_of_charge(&answer);
    }
}

#[tokio::test]
async fn an_answer_carries_a_charge_if_it_used_the_store() {
    let world = given::blog().await;
    let etag = world.get("/api/users/ann").await.header("etag").to_owned();
    let by_etag = [("if-none-match", etag.as_str())];
    for answer in [
        given::user(&world, "carl", "Carl").await.expect(201),
        given::user(&world, "ann", "Ann").await.expect(200),
        given::user(&world, "carl", "ann").await.expect(409),
        world.call("GET", "/api/users/ann", &by_etag, None).await.expect(304),
        world.get("/api/users/nobody").await.expect(404),
        world
            .call("PUT", "/api/users/ann", &[("if-match", "\"0\"")], Some(json!({"username": "A"})))
            .await
            .expect(412),
        given::post(&world, "p1", "bob").await.expect(409),
        given::comment(&world, "p2", "bob", "Nice").await.expect(404),
        given::like(&world, "p1", "bob").await.expect(201),
        given::like(&world, "p1", "bob").await.expect(200),
        world.get("/api/posts/p1/likes").await.expect(200),
        world.get("/api/posts/p2/likes").await.expect(404),
        world.delete("/api/posts/p1").await.expect(204),
        world.delete("/api/posts/p1").await.expect(404),
        world.get("/api/feed").await.expect(200),
    ] {
        charged(&answer);
    }
    for answer in [
        given::raw(&world, ("POST", "/api/users"), None, "{}").await.expect(415),
        given::raw(&world, ("POST", "/api/users"), Some("application/json"), "{").await.expect(400),
        given::user(&world, "ann", "").await.expect(400),
        world.get("/api/posts/p1/likes?limit=0").await.expect(400),
        world.delete("/api/users/ann").await.expect(405),
        world.get("/api/nothing").await.expect(404),
    ] {
        free_of_charge(&answer);
    }
}

#[tokio::test]
async fn every_refusal_that_used_the_store_carries_a_charge() {
    let world = given::blog().await;
    let name = json!({"username": "Ann"});
    let text = json!({"userId": "nobody", "title": "T", "content": "C"});
    let comment = |user: &str| json!({"userId": user, "content": "C"});
    for (method, path, body, status) in [
        ("GET", "users/nobody", None, 404),
        ("GET", "users/nobody/posts", None, 404),
        ("POST", "users", Some(name.clone()), 409),
        ("PUT", "users/carl", Some(name), 409),
        ("POST", "posts", Some(text.clone()), 404),
        ("PUT", "posts/p2", Some(text.clone()), 404),
        ("PUT", "posts/p1", Some(text), 409),
        ("GET", "posts/p2", None, 404),
        ("DELETE", "posts/p2", None, 404),
        ("POST", "posts/p2/comments", Some(comment("ann")), 404),
        ("POST", "posts/p1/comments", Some(comment("nobody")), 404),
        ("GET", "posts/p2/comments", None, 404),
        ("GET", "posts/p2/comments/c#", None, 404),
        ("GET", "posts/p1/comments/c#", None, 404),
        ("DELETE", "posts/p2/comments/c#", None, 404),
        ("DELETE", "posts/p1/comments/c#", None, 404),
        ("PUT", "posts/p2/likes/ann#", None, 404),
        ("PUT", "posts/p1/likes/nobody", None, 404),
        ("GET", "posts/p2/likes", None, 404),
        ("GET", "posts/p2/likes/ann#", None, 404),
        ("GET", "posts/p1/likes/ann#", None, 404),
        ("DELETE", "posts/p2/likes/ann#", None, 404),
        ("DELETE", "posts/p1/likes/ann#", None, 404),
        ("GET", "dead-letters/HomeFeed.x", None, 404),
        ("DELETE", "dead-letters/HomeFeed.x", None, 404),
        ("POST", "dead-letters/HomeFeed.x/replay", None, 404),
    ] {
        let paths: Vec<_> =
            (0..8).map(|n| format!("/api/{}", path.replace('#', &n.to_string()))).collect();
        let sent = paths.iter().map(|path| world.call(method, path, &[], body.clone()));
        for answer in join_all(sent).await {
            problem(&answer, status);
            assert_ne!(answer.header("x-ms-request-charge"), "", "{method} {path}");
        }
    }
}

#[tokio::test]
async fn the_charge_is_the_sum_over_all_store_requests() {
    let world = given::blog().await;
    let charge = |answer: crate::world::Answer| -> f64 {
        answer.header("x-ms-request-charge").parse().unwrap()
    };
    // A comment is read with its post, so it costs more than the post alone.
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    let alone = charge(world.get("/api/posts/p1").await.expect(200));
    let both = charge(world.get(comment.header("location")).await.expect(200));
    assert!(both > alone, "{both} {alone}");
    // The same read costs the same: nothing of the requests before is counted.
    assert!((charge(world.get("/api/posts/p1").await.expect(200)) - alone).abs() < 0.001);
}

#[tokio::test]
async fn a_bug_has_the_id_of_the_invocation_that_the_log_has_its_cause_under() {
    let world = World::new().await;
    let bad = json!({"id": "bad", "postId": "bad", "type": "post", "title": "secret"});
    world.container("posts").await.create_item("bad", "bad", &bad, None).await.unwrap();
    let host = [("x-azure-functions-invocationid", "an-invocation")];
    let answer = world.call("GET", "/api/posts/bad", &host, None).await.expect(500);
    assert_eq!(answer.json()["invocationId"], "an-invocation");
    assert_eq!(answer.json()["type"], "urn:tributary:problem:internal");
    assert!(!answer.text.contains("secret"), "{}", answer.text);
    let answer = world.get("/api/posts/bad").await.expect(500);
    assert!(answer.json().get("invocationId").is_none());
}

/// Also where refusals share the requests of one group, whose cost is divided among them.
#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_that_asked_the_store_says_what_it_cost() {
    let world = given::blog().await;
    let paths = (0..60).flat_map(|n| {
        [
            format!("/api/posts/none/comments/c{n}"),
            format!("/api/posts/none{n}/comments/c"),
            format!("/api/posts/p1/comments/c{n}"),
            format!("/api/posts/none/likes/u{n}"),
            format!("/api/posts/none/comments/c{}", n % 3),
        ]
    });
    let deletes = paths.map(|path| {
        let world = world.clone();
        tokio::spawn(async move { world.delete(&path).await })
    });
    for answer in join_all(deletes).await {
        let answer = answer.unwrap();
        problem(&answer, 404);
        charged(&answer);
    }
}
