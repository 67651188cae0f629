//! Events in the middle of an operation: each story holds one request to the store back, lets
//! something else happen, and lets the request continue, or kills the handler there.

use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::{Batch, Delete, Replace};

use tributary_testing::interleavings::amid;

use crate::{blog as given, expect::problem, world::World};

/// The post `p1` under another title, as the change feed shows it.
async fn edited(world: &World, title: &str) -> Value {
    let body = json!({"userId": "ann", "title": title, "content": "C"});
    world.put("/api/posts/p1", body).await.expect(200);
    world.item("posts", "p1").await
}

async fn deliver(world: &World, function: &str, change: &Value) {
    world.deliver(function, std::slice::from_ref(change)).await.unwrap();
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
    let requests_before = world.endpoint.request_count();
    world.call("DELETE", path, &[("if-match", now.header("etag"))], None).await.expect(204);
    assert_eq!(
        world.endpoint.request_count() - requests_before,
        3,
        "post and comment are read once"
    );
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
async fn of_two_claims_of_a_leaked_name_at_once_one_succeeds() {
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
    let body = Some(json!({"username": "Anna"}));
    let as_seen = [("if-match", seen.as_str())];
    let rename = world.call("PUT", "/api/users/ann", &as_seen, body);
    problem(&amid((&world, Replace, "users"), rename, faster).await, 412);
    given::user(&world, "bob", "Anna").await.expect(200);
}

#[tokio::test]
async fn a_late_release_leaves_a_name_with_its_new_owner() {
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
