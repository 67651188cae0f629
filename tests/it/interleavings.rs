//! Events in the middle of an operation: each story holds one request to the store back, lets
//! something else happen, and lets the request continue, or kills the handler there.

use serde_json::{Value, json};
use tributary_local::cosmos::RequestKind::{Batch, Delete, Replace};

use tributary_testing::interleavings::amid;

use crate::{audit, blog as given, expect::problem, world::World};

async fn deliver(world: &World, function: &str, change: &Value) {
    world.deliver(function, std::slice::from_ref(change)).await.unwrap();
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
    audit::reserve(&world, "zoe", "nobody", audit::LONG_AGO).await;
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
        audit::reserve(&world, "ann", "bob", "2026-11-21T09:25:54.120Z").await;
    };
    let rename = given::user(&world, "ann", "Anna");
    amid((&world, Delete, "users"), rename, taken_over).await.expect(200);
    let users = world.items("users").await;
    let held = users.iter().find(|item| item["userId"] == "username:ann");
    assert_eq!(held.map(|held| &held["owner"]), Some(&json!("bob")));
}
