//! Q3: `GET /users/{userId}/posts`.

use super::given;
use crate::http::expect::{bad_fields, charged, problem};

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
