//! Q1: `GET /users/{userId}`.

use super::given;
use crate::expect::{bad_fields, charged, is_etag, problem};

#[tokio::test]
async fn a_user_shows_the_latest_name_at_once() {
    let world = given::blog().await;
    let before = world.get("/api/users/ann").await.expect(200);
    let renamed = given::user(&world, "ann", "Anna").await.expect(200);
    let after = world.get("/api/users/ann").await.expect(200);
    assert_eq!(after.json(), renamed.json());
    assert_eq!(after.json()["username"], "Anna");
    assert_eq!(after.json()["creationDate"], before.json()["creationDate"]);
    assert_eq!(after.header("etag"), renamed.header("etag"));
    assert_ne!(after.header("etag"), before.header("etag"));
    is_etag(after.header("etag"));
    charged(&after);
}

#[tokio::test]
async fn another_instance_shows_the_same_user() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    given::user(&other, "ann", "Anna").await.expect(200);
    assert_eq!(world.get("/api/users/ann").await.expect(200).json()["username"], "Anna");
}

#[tokio::test]
async fn an_unknown_user_is_not_found() {
    let world = given::blog().await;
    for id in ["nobody", "ANN", "p1", "username"] {
        let answer = world.get(&format!("/api/users/{id}")).await;
        problem(&answer, 404);
        charged(&answer);
    }
}

#[tokio::test]
async fn a_bad_id_is_refused() {
    let world = given::blog().await;
    for id in ["-a", ".a", "_a", "a%20b", "%C3%A4", "a:b", "a%2Fb", "%FF", "a~", &"a".repeat(129)] {
        bad_fields(&world.get(&format!("/api/users/{id}")).await);
    }
}
