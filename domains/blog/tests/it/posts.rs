//! C2, Q2, Q3 and Q6: posts and their lists.

use futures::future::{join, join_all};
use serde_json::{Value, json};
use tributary_functions::values::Timestamp;
use tributary_local::cosmos::{Fault, RequestKind};
use tributary_testing::{checks::conditions::etag, interleavings::held};

use super::given;
use crate::{
    expect::{bad_fields, charged, created, is_timestamp, is_uuid_v7, problem},
    world::{Answer, World},
};

#[tokio::test]
async fn a_new_post_is_found_at_its_location_with_the_fields_of_the_server() {
    let world = given::blog().await;
    let body = json!({
        "userId": "ann", "title": "Title", "content": "Content", "id": "mine", "postId": "mine",
        "userUsername": "Eve", "commentCount": 7, "likeCount": -1, "version": "x", "type": "user",
        "creationDate": "2001-01-01T00:00:00.000Z", "unknown": [[[]]],
    });
    let answer = world.post("/api/posts", body).await;
    let id = answer.json()["id"].clone();
    let post = created(&world, &answer, &format!("/api/posts/{}", id.as_str().unwrap())).await;
    assert!(post["creationDate"].as_str().unwrap() > "2020");
    is_uuid_v7(&id);
    is_timestamp(&post["creationDate"]);
    let expected = json!({"id": id, "postId": id, "userId": "ann", "userUsername": "Ann",
        "title": "Title", "content": "Content", "commentCount": 0, "likeCount": 0,
        "creationDate": post["creationDate"]});
    assert_eq!(post, expected);
    world.get("/api/posts/mine").await.expect(404);
}

#[tokio::test]
async fn the_first_put_creates_and_the_next_edits_the_text_alone() {
    let world = given::blog().await;
    let answer = given::post(&world, "p2", "ann").await;
    let mut expected = created(&world, &answer, "/api/posts/p2").await;
    given::comment(&world, "p2", "bob", "Nice").await.expect(201);
    given::like(&world, "p2", "bob").await.expect(201);
    let body = json!({
        "userId": "ann", "title": "New title", "content": "New content", "commentCount": 0,
        "likeCount": 99, "creationDate": "2001-01-01T00:00:00.000Z", "userUsername": "Eve",
        "postId": "p9",
    });
    let edited = world.put("/api/posts/p2", body).await.expect(200);
    charged(&edited);
    let there = world.get("/api/posts/p2").await.expect(200);
    assert_eq!((there.json(), there.header("etag")), (edited.json(), edited.header("etag")));
    for (field, value) in [("title", "New title"), ("content", "New content")] {
        expected[field] = json!(value);
    }
    for count in ["commentCount", "likeCount"] {
        expected[count] = json!(1);
    }
    assert_eq!(there.json(), expected);
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
async fn an_id_has_few_authors_in_thirty_days_and_costs_each_later_change_few_requests() {
    let world = given::blog().await;
    let copied_for_a_like = async |user: &str| {
        given::like(&world, "p1", user).await.expect(201);
        let ((), requests) = world.requests_of(world.settle()).await;
        requests.iter().filter(|request| request.container == "users").count()
    };
    world.settle().await;
    let n_before = copied_for_a_like("bob").await;
    for n in 0..6 {
        let next = format!("u{n}");
        given::user(&world, &next, &format!("Name {n}")).await.expect(201);
        world.delete("/api/posts/p1").await;
        let created = given::post(&world, "p1", &next).await;
        if n < 4 {
            created.expect(201);
        } else {
            let detail = problem(&created, 409)["detail"].to_string();
            assert!(detail.contains("too many authors"), "{detail}");
        }
    }
    given::post(&world, "p1", "ann").await.expect(201);
    world.settle().await;
    assert_eq!(copied_for_a_like("bob").await, n_before + 4);

    // After thirty days the former authors are forgotten, and others may come.
    let mut post = world.item("posts", "p1").await;
    for former in post["formerAuthors"].as_array_mut().unwrap() {
        former["until"] = json!(0);
    }
    world.write_item("posts", &post).await;
    given::like(&world, "p1", "u1").await.expect(201);
    world.settle().await;
    assert_eq!(copied_for_a_like("u2").await, n_before);
    world.delete("/api/posts/p1").await.expect(204);
    given::post(&world, "p1", "u5").await.expect(201);
    world.settle().await;
    assert!(world.list("/api/users/ann/posts").await.is_empty());
}

/// The author deletes at two devices, behind App Service Authentication.
#[tokio::test]
async fn of_two_deletes_of_one_state_one_succeeds_and_none_deletes_a_later_state() {
    for (is_post, changes) in [(true, false), (true, true), (false, false), (false, true)] {
        let world = given::blog().await;
        let comment = given::comment(&world, "p1", "ann", "Well.").await.expect(201);
        let (path, write) = if is_post {
            ("/api/posts/p1", RequestKind::Replace)
        } else {
            (comment.header("location"), RequestKind::Batch)
        };
        let seen = etag(&world, path).await;
        let headers = [("x-ms-client-principal-id", "ann"), ("if-match", &seen)];
        let devices = [world.with_easyauth().await, world.with_easyauth().await];
        let [one, other] =
            devices.each_ref().map(|device| device.call("DELETE", path, &headers, None));
        let at = (&world, write, "posts");
        let ((hold, one), (other_hold, other)) = (held(at, one).await, held(at, other).await);
        if changes {
            given::user(&world, "ann", "Anna").await.expect(200);
            let user = world.item("users", "ann").await;
            world.deliver("UsernamesInPosts", &[user]).await.unwrap();
        }
        hold.release();
        other_hold.release();
        let (one, other) = join(one, other).await;
        let mut statuses = [one.status.as_u16(), other.status.as_u16()];
        statuses.sort_unstable();
        let there = world.get(path).await.status.as_u16();
        let expected = if changes { ([412, 412], 200) } else { ([204, 412], 404) };
        assert_eq!((statuses, there), expected, "{path}");
    }
}

async fn post_once(world: &World, key: &str, user_id: &str, title: &str) -> Answer {
    let body = json!({"userId": user_id, "title": title, "content": "A content"});
    world.call("POST", "/api/posts", &[("idempotency-key", key)], Some(body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_key_makes_one_post_of_its_author() {
    let world = given::blog().await;
    let instances = [world.clone(), world.second_instance().await];
    let send = |n: usize| post_once(&instances[n % 2], "key", "ann", "T");
    let mut ids: Vec<String> = Vec::new();
    for answer in join_all((0..6).map(send)).await {
        ids.push(answer.expect(201).header("location").to_owned());
    }
    ids.dedup();
    let [path] = ids.as_slice() else { panic!("{ids:?}") };
    for (key, user, title) in [("key", "bob", "T"), ("other key", "ann", "T")] {
        let other = post_once(&world, key, user, title).await.expect(201);
        assert_ne!(other.header("location"), path);
    }
    // The same request finds the post as it is by now.
    let edited = json!({"userId": "ann", "title": "Edited", "content": "A content"});
    world.put(path, edited).await.expect(200);
    let again = post_once(&world, "key", "ann", "T").await.expect(201);
    assert_eq!(again.json()["title"], "Edited");
    problem(&post_once(&world, "key", "ann", "Edited").await, 409);
    world.delete(path).await.expect(204);
    let deleted = problem(&post_once(&world, "key", "ann", "T").await, 409);
    assert!(deleted["detail"].as_str().unwrap().contains("was deleted"), "{deleted}");
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
    world.write_item("users", &continuation).await;
    let page = world.get("/api/users/ann/posts?limit=2").await.expect(200).json();
    let more = page["nextCursor"].as_str().expect("there is a third");
    let last = world.get(&format!("/api/users/ann/posts?limit=2&cursor={more}")).await.expect(200);
    assert_eq!(last.json()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_deleted_post_is_gone_with_its_comments_and_likes_at_once() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201);
    let like = given::like(&world, "p1", "bob").await.expect(201);
    given::post(&world, "p2", "ann").await.expect(201);
    given::comment(&world, "p2", "bob", "Nice").await.expect(201);
    let answer = world.delete("/api/posts/p1").await.expect(204);
    assert_eq!(answer.text, "");
    charged(&answer);
    problem(&world.delete("/api/posts/p1").await, 404);
    problem(&world.delete("/api/posts/p3").await, 404);
    bad_fields(&world.delete("/api/posts/-p").await);
    assert_eq!(given::counts(&world, "p2").await, [(1, 0), (1, 0)]);
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
async fn a_put_with_the_id_of_a_deleted_post_makes_a_new_one() {
    let world = given::blog().await;
    for author in ["bob", "ann"] {
        // The key of a comment that was deleted by itself is not used again.
        let key = format!("a key of {author}");
        let comment = given::comment_once(&world, &key, "p1", "bob", "Nice").await.expect(201);
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

#[tokio::test]
async fn a_post_made_anew_is_newer_than_the_deleted_one_with_any_clocks() {
    let world = given::blog().await;
    let date = |post: &Value| Timestamp::parse(post["creationDate"].as_str().unwrap()).unwrap();
    // The clock of the instance that creates the post is ahead.
    let ahead = "2126-11-21T09:25:54.999Z";
    world.change_item("posts", "p1", &json!({"creationDate": ahead})).await;
    for _ in 0..2 {
        let before = world.get("/api/posts/p1").await.expect(200).json();
        world.delete("/api/posts/p1").await.expect(204);
        world.endpoint.inject(Fault::AnswerLost, RequestKind::Replace, "posts", 1);
        let after = given::post(&world, "p1", "ann").await.expect(201).json();
        assert!(date(&after) > date(&before), "{after} {before}");
    }
    // Tombstones of earlier releases do not have the date.
    world.delete("/api/posts/p1").await.expect(204);
    let mut deleted = world.item("posts", "p1").await;
    deleted.as_object_mut().unwrap().remove("postCreationDate").unwrap();
    world.write_item("posts", &deleted).await;
    let post = given::post(&world, "p1", "ann").await.expect(201).json();
    assert!(date(&post) < Timestamp::parse(ahead).unwrap());
}
