//! `DELETE /posts/{postId}`.

use futures::future::join_all;
use serde_json::{Value, json};
use tributary_functions::values::Timestamp;
use tributary_local::cosmos::{Fault, RequestKind};

use super::given;
use crate::expect::{bad_fields, charged, created, problem};

#[tokio::test]
async fn a_deleted_post_is_gone_with_its_comments_and_likes_at_once() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    let like = given::like(&world, "p1", "bob").await.expect(201);
    let answer = world.delete("/api/posts/p1").await.expect(204);
    assert_eq!(answer.text, "");
    charged(&answer);
    for path in [
        "/api/posts/p1",
        "/api/posts/p1/comments",
        "/api/posts/p1/likes",
        comment.header("location"),
        like.header("location"),
    ] {
        problem(&world.get(path).await, 404);
    }
    problem(&world.delete(comment.header("location")).await, 404);
    problem(&world.delete(like.header("location")).await, 404);
    problem(&given::comment(&world, "p1", "bob", "Still there?").await, 404);
    problem(&given::like(&world, "p1", "ann").await, 404);
    problem(&given::like(&world, "p1", "bob").await, 404);
}

#[tokio::test]
async fn a_post_deleted_twice_is_not_found() {
    let world = given::blog().await;
    world.delete("/api/posts/p1").await.expect(204);
    problem(&world.delete("/api/posts/p1").await, 404);
    problem(&world.delete("/api/posts/p2").await, 404);
    bad_fields(&world.delete("/api/posts/-p").await);
}

#[tokio::test]
async fn other_posts_stay() {
    let world = given::blog().await;
    given::post(&world, "p2", "ann").await.expect(201);
    given::comment(&world, "p2", "bob", "Nice").await.expect(201);
    world.delete("/api/posts/p1").await.expect(204);
    assert_eq!(given::counts(&world, "p2").await, [(1, 0), (1, 0)]);
}

#[tokio::test]
async fn a_put_with_the_id_of_a_deleted_post_makes_a_new_one() {
    let world = given::blog().await;
    for author in ["bob", "ann"] {
        // The key of a comment that was deleted by itself is not used again.
        let key = format!("a key of {author}");
        let comment = given::comment_once(&world, &key, "p1", "bob", "Nice").await.expect(201);
        for n in 0..30 {
            given::comment(&world, "p1", "ann", &format!("Comment {n}")).await.expect(201);
        }
        let like = given::like(&world, "p1", "bob").await.expect(201);
        world.delete("/api/posts/p1").await.expect(204);
        problem(&given::post(&world, "p1", "nobody").await, 404);
        let answer = given::post(&world, "p1", author).await;
        let post = created(&world, &answer, "/api/posts/p1").await;
        assert_eq!((&post["commentCount"], &post["likeCount"]), (&json!(0), &json!(0)));
        assert_eq!(post["userId"], author);
        assert_eq!(given::counts(&world, "p1").await, [(0, 0), (0, 0)]);
        problem(&world.get(comment.header("location")).await, 404);
        problem(&world.get(like.header("location")).await, 404);
        given::comment_once(&world, &key, "p1", "bob", "Another text").await.expect(201);
        given::like(&world, "p1", "bob").await.expect(201);
        assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);
        world.delete("/api/posts/p1/likes/bob").await.expect(204);
        world.delete(comment.header("location")).await.expect(204);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_deletes_of_one_post_at_once_exactly_one_succeeds() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    for _ in 0..10 {
        let deletes = (0..6).map(|k| {
            let world = if k % 2 == 0 { world.clone() } else { other.clone() };
            tokio::spawn(async move { world.delete("/api/posts/p1").await })
        });
        let answers = join_all(deletes).await.into_iter().map(Result::unwrap);
        let (gone, not_found): (Vec<_>, Vec<_>) = answers.partition(|answer| answer.status == 204);
        assert_eq!(gone.len(), 1);
        for answer in &not_found {
            problem(answer, 404);
        }
        given::post(&world, "p1", "ann").await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_deleted_and_made_anew_amid_comments_and_likes_counts_rightly() {
    let world = given::blog().await;
    let other = world.second_instance().await;
    let reactions = (0..60).map(|n| {
        let world = if n % 2 == 0 { world.clone() } else { other.clone() };
        tokio::spawn(async move {
            let answer = match n % 3 {
                0 => given::comment(&world, "p1", "bob", "Nice").await,
                1 => given::like(&world, "p1", if n % 2 == 0 { "ann" } else { "bob" }).await,
                _ => world.delete("/api/posts/p1/likes/bob").await,
            };
            assert!(matches!(answer.status.as_u16(), 200 | 201 | 204 | 404), "{}", answer.text);
        })
    });
    let reactions: Vec<_> = reactions.collect();
    for _ in 0..5 {
        world.delete("/api/posts/p1").await.expect(204);
        given::post(&other, "p1", "ann").await.expect(201);
    }
    join_all(reactions).await.into_iter().for_each(Result::unwrap);
    let [shown, listed] = given::counts(&world, "p1").await;
    assert_eq!(shown, listed);
}

#[tokio::test]
async fn a_post_made_anew_is_newer_than_the_deleted_one_with_any_clocks() {
    let world = given::blog().await;
    let posts = given::container(&world, "posts").await;
    let date = |post: &Value| Timestamp::parse(post["creationDate"].as_str().unwrap()).unwrap();
    // The clock of the instance that creates the post is ahead.
    let ahead = "2126-11-21T09:25:54.999Z";
    let mut post: Value = posts.read_item("p1", "p1", None).await.unwrap().into_model().unwrap();
    post["creationDate"] = ahead.into();
    posts.upsert_item("p1", "p1", &post, None).await.unwrap();
    for _ in 0..2 {
        let before = world.get("/api/posts/p1").await.expect(200).json();
        world.delete("/api/posts/p1").await.expect(204);
        world.endpoint.inject(Fault::AnswerLost, RequestKind::Replace, "posts", 1);
        let after = given::post(&world, "p1", "ann").await.expect(201).json();
        assert!(date(&after) > date(&before), "{after} {before}");
    }
    // Tombstones of earlier releases do not have the date.
    world.delete("/api/posts/p1").await.expect(204);
    let mut deleted: Value = posts.read_item("p1", "p1", None).await.unwrap().into_model().unwrap();
    deleted.as_object_mut().unwrap().remove("postCreationDate").unwrap();
    posts.upsert_item("p1", "p1", &deleted, None).await.unwrap();
    let post = given::post(&world, "p1", "ann").await.expect(201).json();
    assert!(date(&post) < Timestamp::parse(ahead).unwrap());
}
