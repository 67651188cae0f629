//! C4 and Q5: likes.

use serde_json::json;

use super::given::{self, like};
use crate::expect::{charged, created, is_timestamp};

#[tokio::test]
async fn the_first_like_is_created_and_every_further_one_is_the_same() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    let first = like(&world, "p1", "bob").await;
    let stored = created(&world, &first, "/api/posts/p1/likes/bob").await;
    is_timestamp(&stored["creationDate"]);
    assert!(stored["id"].is_string());
    assert_eq!(
        (&stored["postId"], &stored["userId"], &stored["userUsername"]),
        (&json!("p1"), &json!("bob"), &json!("Bob"))
    );
    for world in [&world, &other, &world] {
        let again = like(world, "p1", "bob").await.expect(200);
        assert_eq!(again.json(), stored);
        assert_eq!(again.header("etag"), first.header("etag"));
        charged(&again);
    }
    assert_eq!(given::counts(&world, "p1").await, [(0, 1), (0, 1)]);
}

#[tokio::test]
async fn a_user_of_the_longest_id_may_like_a_post_of_the_longest_id() {
    let world = given::blog().await;
    let longest = "x".repeat(128);
    given::user(&world, &longest, "Xaver").await.expect(201);
    given::post(&world, &longest, &longest).await.expect(201);
    let answer = like(&world, &longest, &longest).await;
    created(&world, &answer, &format!("/api/posts/{longest}/likes/{longest}")).await;
    world.delete(answer.header("location")).await.expect(204);
}
