//! Events in the middle of an operation: each story holds one request to the store back, lets
//! something else happen, and lets the request continue, or kills the handler there.

use serde_json::json;
use tributary_local::cosmos::RequestKind::{Delete, Replace};

use tributary_testing::interleavings::amid;

use crate::{audit, blog as given, expect::problem};

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
