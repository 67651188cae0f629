//! What happens in the middle of an operation: each story holds one request to the store back, lets
//! something else happen, and lets the request go on, or kills the handler there.

use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::{Batch, Create, Delete, Query, Replace};

pub(crate) use tributary_testing::interleavings::{amid, held, killed_at};

use crate::{blog::given, http::expect::problem, world::World};

/// The post `p1` under another title, as the change feed shows it.
async fn edited(world: &World, title: &str) -> Value {
    let body = json!({"userId": "ann", "title": title, "content": "C"});
    world.put("/api/posts/p1", body).await.expect(200);
    world.item("posts", "p1").await
}

async fn deliver(world: &World, function: &str, change: &Value) {
    world.deliver(function, std::slice::from_ref(change)).await.unwrap();
}

/// The ids of the feed's members, as its head lists them.
async fn members(world: &World) -> Vec<String> {
    let head = world.item("feed", "~head").await;
    let ids = head["members"].as_array().unwrap().iter().map(|member| &member["id"]);
    ids.map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn of_two_copies_written_at_once_the_newer_stays() {
    // The feed is written in transactions only.
    for (function, container, copy, kinds) in [
        ("PostCopiesInUsers", "users", "post:p1", [Create, Replace]),
        ("HomeFeed", "feed", "p1", [Batch, Batch]),
    ] {
        // The first of all copies may be of the first version of its post, or of a later one.
        for is_first_version in [true, false] {
            let world = given::blog().await;
            if !is_first_version {
                edited(&world, "first").await;
            }
            let first = world.item("posts", "p1").await;
            let second = edited(&world, "second").await;
            let older = deliver(&world, function, &first);
            amid((&world, kinds[0], container), older, deliver(&world, function, &second)).await;
            assert_eq!(world.item(container, copy).await["title"], "second", "{function}");

            let third = edited(&world, "third").await;
            let fourth = edited(&world, "fourth").await;
            let older = deliver(&world, function, &third);
            amid((&world, kinds[1], container), older, deliver(&world, function, &fourth)).await;
            assert_eq!(world.item(container, copy).await["title"], "fourth", "{function}");
        }
    }
}

#[tokio::test]
async fn of_two_posts_that_come_into_the_feed_at_once_the_head_knows_both() {
    let world = given::blog().await;
    for ids in [["p1", "p2"], ["p3", "p4"]] {
        for id in ids {
            given::post(&world, id, "ann").await;
        }
        let one = world.item("posts", ids[0]).await;
        let other = world.item("posts", ids[1]).await;
        let held = deliver(&world, "HomeFeed", &one);
        amid((&world, Batch, "feed"), held, deliver(&world, "HomeFeed", &other)).await;
        let members = members(&world).await;
        assert!(ids.iter().all(|id| members.iter().any(|known| known == id)), "{members:?}");
    }
}

#[tokio::test]
async fn of_two_batches_that_come_into_the_feed_at_once_the_head_knows_all() {
    let world = given::blog().await;
    for round in ["a", "b"] {
        for n in 0..12 {
            given::post(&world, &format!("{round}{n}"), "ann").await.expect(201);
        }
        let posts = world.items("posts").await;
        let (one, other) = posts.split_at(posts.len() / 2);
        let deliver = async |posts| world.deliver("HomeFeed", posts).await.unwrap();
        amid((&world, Batch, "feed"), deliver(one), deliver(other)).await;
        let mut members = members(&world).await;
        members.sort_unstable();
        let mut ids: Vec<_> = posts.iter().map(|post| post["id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(members, ids);
    }
}

#[tokio::test]
async fn a_post_deleted_while_it_is_copied_stays_deleted() {
    for (function, kind, container) in
        [("PostCopiesInUsers", Create, "users"), ("HomeFeed", Batch, "feed")]
    {
        let world = given::blog().await;
        let live = edited(&world, "edited").await;
        world.delete("/api/posts/p1").await.expect(204);
        let mark = world.item("posts", "p1").await;
        let held = deliver(&world, function, &live);
        amid((&world, kind, container), held, deliver(&world, function, &mark)).await;
        assert!(world.list("/api/users/ann/posts").await.is_empty());
        assert_eq!(world.get("/api/feed").await.expect(200).json()["items"], json!([]));
    }
}

#[tokio::test]
async fn a_handler_killed_before_it_fills_the_feed_up_leaves_that_to_the_next_change() {
    let world = given::blog().await;
    for n in 0..101 {
        given::post(&world, &format!("n{n}"), "ann").await.expect(201);
    }
    world.settle().await;
    world.delete("/api/posts/n50").await.expect(204);
    let mark = world.item("posts", "n50").await;
    killed_at((&world, Query, "posts"), deliver(&world, "HomeFeed", &mark)).await;
    assert_eq!(members(&world).await.len(), 99, "else this test shows nothing");

    given::like(&world, "n60", "bob").await.expect(201);
    let liked = world.item("posts", "n60").await;
    deliver(&world, "HomeFeed", &liked).await;
    assert_eq!(members(&world).await.len(), 100);
}

#[tokio::test]
async fn a_rename_and_a_like_at_once_keep_each_others_work() {
    let world = given::blog().await;
    given::user(&world, "ann", "Anna").await.expect(200);
    let ann = world.item("users", "ann").await;
    let rename = deliver(&world, "UsernamesInPosts", &ann);
    let like = async {
        given::like(&world, "p1", "bob").await.expect(201);
    };
    amid((&world, Replace, "posts"), rename, like).await;
    assert_eq!(given::counts(&world, "p1").await, [(0, 1), (0, 1)]);
    let post = world.get("/api/posts/p1").await.expect(200).json();
    assert_eq!(post["userUsername"], "Anna");
}

#[tokio::test]
async fn a_rename_overtaken_by_a_later_one_leaves_the_later_name() {
    let world = given::blog().await;
    given::user(&world, "ann", "Anna").await.expect(200);
    let second = world.item("users", "ann").await;
    let earlier = deliver(&world, "UsernamesInPosts", &second);
    let later = async {
        given::user(&world, "ann", "Annabel").await.expect(200);
        deliver(&world, "UsernamesInPosts", &world.item("users", "ann").await).await;
    };
    amid((&world, Replace, "posts"), earlier, later).await;
    let post = world.item("posts", "p1").await;
    assert_eq!((&post["userUsername"], &post["usernameVersion"]), (&json!("Annabel"), &json!(3)));
}

#[tokio::test]
async fn a_comment_deleted_while_it_is_renamed_stays_deleted() {
    let world = given::blog().await;
    world.delete("/api/posts/p1").await.expect(204);
    given::post(&world, "p2", "bob").await.expect(201);
    let comment = given::comment(&world, "p2", "ann", "Well.").await.expect(201);
    given::user(&world, "ann", "Anna").await.expect(200);
    let ann = world.item("users", "ann").await;
    let delete = async {
        world.delete(comment.header("location")).await.expect(204);
    };
    let rename = deliver(&world, "UsernamesInPosts", &ann);
    amid((&world, Replace, "posts"), rename, delete).await;
    assert_eq!(given::counts(&world, "p2").await, [(0, 0), (0, 0)]);
}

#[tokio::test]
async fn a_comment_that_changes_while_it_is_deleted_under_a_condition_stays() {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Well.").await.expect(201);
    let path = comment.header("location");
    let as_seen = [("if-match", comment.header("etag"))];
    let renamed = async {
        given::user(&world, "bob", "Rob").await.expect(200);
        deliver(&world, "UsernamesInPosts", &world.item("users", "bob").await).await;
    };
    let delete = world.call("DELETE", path, &as_seen, None);
    problem(&amid((&world, Batch, "posts"), delete, renamed).await, 412);
    assert_eq!(given::counts(&world, "p1").await, [(1, 0), (1, 0)]);

    let now = world.get(path).await.expect(200);
    let mark = world.endpoint.request_count();
    world.call("DELETE", path, &[("if-match", now.header("etag"))], None).await.expect(204);
    assert_eq!(world.endpoint.request_count() - mark, 3, "post and comment are read once");
}

#[tokio::test]
async fn two_who_remove_the_comments_of_a_deleted_post_at_once_both_succeed() {
    let world = given::blog().await;
    given::comment(&world, "p1", "bob", "Well.").await.expect(201);
    world.delete("/api/posts/p1").await.expect(204);
    let mark = world.item("posts", "p1").await;
    let one = deliver(&world, "PostsIntegrity", &mark);
    amid((&world, Batch, "posts"), one, deliver(&world, "PostsIntegrity", &mark)).await;
    assert_eq!(world.items("posts").await, [mark]);
}

#[tokio::test]
async fn two_commands_on_one_post_at_once_keep_each_others_work() {
    let world = given::blog().await;
    // At one instance they would go together.
    let other = world.second_instance().await;
    let like = async {
        given::like(&other, "p1", "bob").await.expect(201);
    };
    let comment = given::comment(&world, "p1", "ann", "Well.");
    let comment = amid((&world, Batch, "posts"), comment, like).await.expect(201);
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);

    let unlike = async {
        other.delete("/api/posts/p1/likes/bob").await.expect(204);
    };
    amid((&world, Batch, "posts"), given::like(&world, "p1", "ann"), unlike).await.expect(201);
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);

    let more = async {
        given::comment(&other, "p1", "bob", "Well!").await.expect(201);
    };
    let less = world.delete(comment.header("location"));
    amid((&world, Batch, "posts"), less, more).await.expect(204);
    assert_eq!(given::counts(&world, "p1").await, [(1, 1), (1, 1)]);

    let like = async {
        given::like(&other, "p1", "bob").await.expect(201);
    };
    assert_eq!(
        amid((&world, Replace, "posts"), edited(&world, "edited"), like).await["likeCount"],
        2
    );
    assert_eq!(given::counts(&world, "p1").await, [(1, 2), (1, 2)]);
}

#[tokio::test]
async fn a_comment_made_while_its_post_is_deleted_goes_with_it() {
    let world = given::blog().await;
    let comment = async {
        given::comment(&world, "p1", "bob", "Just in time").await.expect(201);
    };
    amid((&world, Replace, "posts"), world.delete("/api/posts/p1"), comment).await.expect(204);
    world.settle().await;
    let left = world.items("posts").await;
    assert!(left.iter().all(|item| item["type"] == "deletedPost"), "{left:?}");
}

#[tokio::test]
async fn of_two_who_take_a_name_left_behind_at_once_one_gets_it() {
    let world = given::blog().await;
    let reservation = json!({
        "type": "username", "id": "username", "userId": "username:zoe", "owner": "nobody",
        "reservedAt": "2020-01-01T00:00:00.000Z",
    });
    let users = world.container("users").await;
    users.create_item("username:zoe", "username", &reservation, None).await.unwrap();
    let second = async {
        given::user(&world, "second", "Zoe").await.expect(201);
    };
    let first = amid((&world, Replace, "users"), given::user(&world, "first", "Zoe"), second).await;
    problem(&first, 409);
    problem(&world.get("/api/users/first").await, 404);
}

#[tokio::test]
async fn a_rename_that_lost_a_race_leaves_its_name_to_others_at_once() {
    let world = given::blog().await;
    let seen = world.get("/api/users/ann").await.header("etag").to_owned();
    let faster = async {
        given::user(&world, "ann", "Annabel").await.expect(200);
    };
    let (body, as_seen) = (Some(json!({"username": "Anna"})), [("if-match", seen.as_str())]);
    let rename = world.call("PUT", "/api/users/ann", &as_seen, body);
    problem(&amid((&world, Replace, "users"), rename, faster).await, 412);
    given::user(&world, "bob", "Anna").await.expect(200);
}

#[tokio::test]
async fn a_name_given_back_late_stays_with_who_has_it_now() {
    let world = given::blog().await;
    let taken_over = async {
        let reservation = json!({
            "type": "username", "id": "username", "userId": "username:ann", "owner": "bob",
            "reservedAt": "2026-11-21T09:25:54.120Z",
        });
        let users = world.container("users").await;
        users.upsert_item("username:ann", "username", &reservation, None).await.unwrap();
    };
    let rename = given::user(&world, "ann", "Anna");
    amid((&world, Delete, "users"), rename, taken_over).await.expect(200);
    let users = world.items("users").await;
    let held = users.iter().find(|item| item["userId"] == "username:ann");
    assert_eq!(held.map(|held| &held["owner"]), Some(&json!("bob")));
}

#[tokio::test]
async fn a_dead_letter_stored_anew_while_it_is_replayed_stays() {
    let world = given::blog().await;
    let posts = world.container("posts").await;
    let bad = json!({"id": "p1", "postId": "p1", "type": "poem"});
    let good = world.item("posts", "p1").await;
    deliver(&world, "PostCopiesInUsers", &bad).await;
    let letter = world.list("/api/dead-letters").await.remove(0);
    let path = format!("/api/dead-letters/{}/replay", letter["id"].as_str().unwrap());
    let spoilt_again = async {
        posts.upsert_item("p1", "p1", &bad, None).await.unwrap();
        deliver(&world, "PostCopiesInUsers", &bad).await;
    };
    let replay = world.post(&path, Value::Null);
    let answer = amid((&world, Batch, "dead-letters"), replay, spoilt_again).await;
    problem(&answer, 409);
    assert_eq!(world.items("dead-letters").await.len(), 1);

    posts.upsert_item("p1", "p1", &good, None).await.unwrap();
    world.post(&path, Value::Null).await.expect(200);
    assert!(world.list("/api/dead-letters").await.is_empty());
}
