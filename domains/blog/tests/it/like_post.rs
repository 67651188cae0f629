//! C4: `PUT /posts/{postId}/likes/{userId}`.

use futures::future::join_all;
use serde_json::json;

use super::given::{self, like};
use crate::expect::{bad_fields, charged, created, is_timestamp, problem};

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
async fn an_unknown_post_or_user_is_not_found() {
    let world = given::blog().await;
    for (post_id, user_id) in [("p2", "bob"), ("p1", "nobody"), ("p2", "nobody")] {
        let answer = like(&world, post_id, user_id).await;
        problem(&answer, 404);
        charged(&answer);
    }
    assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
}

#[tokio::test]
async fn bad_ids_are_refused() {
    let world = given::blog().await;
    for (post_id, user_id) in [("-p", "bob"), ("p1", "b%20b"), ("p1", "%FF"), ("p%2F1", "bob")] {
        bad_fields(&like(&world, post_id, user_id).await);
    }
    bad_fields(&like(&world, "p1", &"b".repeat(129)).await);
    problem(&like(&world, "p1", &"b".repeat(128)).await, 404);
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

#[tokio::test]
async fn a_body_of_a_like_is_ignored() {
    let world = given::blog().await;
    let path = "/api/posts/p1/likes/bob";
    world.put(path, json!({"userId": "ann", "creationDate": "x"})).await.expect(201);
    given::raw(&world, ("PUT", path), Some("text/plain"), "{").await.expect(200);
    assert_eq!(world.get(path).await.expect(200).json()["userId"], "bob");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_same_likes_at_once_one_is_created_and_counted() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    for round in 0..10 {
        let likes = (0..6).map(|k| {
            let world = if k % 2 == 0 { world.clone() } else { other.clone() };
            tokio::spawn(async move { like(&world, "p1", "bob").await })
        });
        let answers: Vec<_> = join_all(likes).await.into_iter().map(Result::unwrap).collect();
        assert!(answers.iter().all(|answer| matches!(answer.status.as_u16(), 200 | 201)));
        assert!(answers.iter().all(|answer| answer.text == answers[0].text));
        let n_created = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(n_created, 1, "round {round}");
        assert_eq!(given::counts(&world, "p1").await, [(0, 1), (0, 1)]);
        world.delete("/api/posts/p1/likes/bob").await.expect(204);
    }
}
