//! Q3: `GET /users/{userId}/posts`.

use serde_json::json;

use super::given;
use crate::expect::{bad_fields, charged, problem};

#[tokio::test]
async fn a_user_without_posts_has_an_empty_list() {
    let world = given::blog().await;
    let answer = world.get("/api/users/bob/posts").await.expect(200);
    assert_eq!(answer.text, r#"{"items":[],"nextCursor":null}"#);
    charged(&answer);
}

#[tokio::test]
async fn the_posts_of_an_unknown_user_are_not_found() {
    let world = given::blog().await;
    for id in ["nobody", "username", "p1"] {
        let answer = world.get(&format!("/api/users/{id}/posts")).await;
        problem(&answer, 404);
        charged(&answer);
    }
    for id in ["-a", "username:ann", "a%20b"] {
        bad_fields(&world.get(&format!("/api/users/{id}/posts")).await);
    }
}

#[tokio::test]
async fn an_unfinished_rename_does_not_shorten_the_list() {
    let world = given::blog().await;
    for id in ["p2", "p3"] {
        given::post(&world, id, "ann").await.expect(201);
    }
    world.settle().await;
    let continuation = json!({
        "id": "user:renaming", "type": "markOfRename", "userId": "ann", "version": 1, "ttl": 1_000,
    });
    let users = world.container("users").await;
    users.create_item("ann".to_owned(), "user:renaming", &continuation, None).await.unwrap();
    let page = world.get("/api/users/ann/posts?limit=2").await.expect(200).json();
    let more = page["nextCursor"].as_str().expect("there is a third");
    let last = world.get(&format!("/api/users/ann/posts?limit=2&cursor={more}")).await.expect(200);
    assert_eq!(last.json()["items"].as_array().unwrap().len(), 1);
}
