//! C2: `PUT /posts/{postId}`.

use serde_json::{Value, json};

use super::given;
use crate::{
    at_once::{each_put_is_answered_with_its_own, one_put_creates},
    expect::{bad_fields, charged, created, problem},
};

#[tokio::test]
async fn the_first_put_creates_and_the_next_edits() {
    let world = given::blog().await;
    let answer = given::post(&world, "p2", "ann").await;
    let post = created(&world, &answer, "/api/posts/p2").await;
    assert_eq!((post["id"].as_str(), post["postId"].as_str()), (Some("p2"), Some("p2")));
    let body = json!({"userId": "ann", "title": "New title", "content": "New content"});
    let edited = world.put("/api/posts/p2", body).await.expect(200);
    charged(&edited);
    assert_ne!(edited.header("etag"), answer.header("etag"));
    let there = world.get("/api/posts/p2").await.expect(200);
    assert_eq!(there.json(), edited.json());
    assert_eq!(there.header("etag"), edited.header("etag"));
    let mut expected = post;
    expected["title"] = json!("New title");
    expected["content"] = json!("New content");
    assert_eq!(there.json(), expected);
}

#[tokio::test]
async fn an_edit_keeps_the_counts_and_the_fields_of_the_server() {
    let world = given::blog().await;
    given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    given::like(&world, "p1", "ann").await.expect(201);
    given::like(&world, "p1", "bob").await.expect(201);
    let before = world.get("/api/posts/p1").await.expect(200).json();
    let body = json!({
        "userId": "ann", "title": "T", "content": "C", "commentCount": 0, "likeCount": 99,
        "creationDate": "2001-01-01T00:00:00.000Z", "userUsername": "Eve", "postId": "p9",
    });
    let edited = world.put("/api/posts/p1", body).await.expect(200).json();
    assert_eq!((&edited["commentCount"], &edited["likeCount"]), (&json!(1), &json!(2)));
    for member in ["creationDate", "userUsername", "id", "postId", "userId"] {
        assert_eq!(edited[member], before[member], "{member}");
    }
}

#[tokio::test]
async fn another_users_post_is_a_conflict_whether_that_user_exists_or_not() {
    let world = given::blog().await;
    let before = world.get("/api/posts/p1").await.expect(200);
    for user_id in ["bob", "nobody", "ANN"] {
        problem(&given::post(&world, "p1", user_id).await, 409);
    }
    let after = world.get("/api/posts/p1").await.expect(200);
    assert_eq!(after.header("etag"), before.header("etag"));
}

#[tokio::test]
async fn a_new_post_of_an_unknown_author_is_not_found() {
    let world = given::blog().await;
    problem(&given::post(&world, "p2", "nobody").await, 404);
    problem(&world.get("/api/posts/p2").await, 404);
}

#[tokio::test]
async fn bad_ids_and_bad_fields_are_refused() {
    let world = given::blog().await;
    for id in ["-p", "%20", "p%2F1", "~head", &"p".repeat(129)] {
        bad_fields(&given::post(&world, id, "ann").await);
    }
    created(
        &world,
        &given::post(&world, &"p".repeat(128), "ann").await,
        &format!("/api/posts/{}", "p".repeat(128)),
    )
    .await;
    let answer = world.put("/api/posts/p1", json!({"title": 1, "content": ""})).await;
    assert_eq!(bad_fields(&answer), ["content", "title", "userId"]);
    let long = json!({"userId": "ann", "title": "t".repeat(201), "content": "C"});
    assert_eq!(bad_fields(&world.put("/api/posts/p1", long).await), ["title"]);
}

#[tokio::test]
async fn the_largest_post_can_still_be_edited_and_liked() {
    let world = given::blog().await;
    let body = json!({"userId": "ann", "title": "T", "content": "x".repeat(512 * 1024)});
    world.put("/api/posts/p1", body).await.expect(200);
    given::like(&world, "p1", "bob").await.expect(201);
    given::comment(&world, "p1", "bob", &"😀".repeat(10_000)).await.expect(201);
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_creates_of_one_post_at_once_exactly_one_succeeds() {
    let world = given::blog().await;
    let instances = [world.clone(), world.second_instance().await];
    for n in 0..20 {
        one_put_creates(&instances, &format!("/api/posts/new{n}"), post_by).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_put_of_many_at_once_is_answered_with_its_own_text() {
    let world = given::blog().await;
    let instances = [world.clone(), world.second_instance().await];
    for n in 0..20 {
        let path = format!("/api/posts/new{n}");
        each_put_is_answered_with_its_own("title", &instances, &path, post_by).await;
    }
}

fn post_by(caller: usize) -> Value {
    json!({"userId": "ann", "title": format!("by {caller}"), "content": "C"})
}
