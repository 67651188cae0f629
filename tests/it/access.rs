//! The permissions of callers that App Service Authentication has signed in.

use serde_json::{Value, json};
use tributary_local::cosmos::{Fault, RequestKind};
use tributary_testing::checks;

use crate::{
    blog as given,
    expect::{created, problem},
    world::{Answer, TestApp, World},
};

/// The blog of [`given::blog`] with Bob's comment `p1/comments/{id}` and Bob's like of `p1`, behind
/// App Service Authentication; and the id of the comment.
pub(super) async fn blog() -> (World, String) {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201).json();
    given::like(&world, "p1", "bob").await.expect(201);
    (world.with_easyauth().await, comment["id"].as_str().unwrap().to_owned())
}

/// The header that the platform sends for a user that is signed in with Microsoft Entra.
pub(crate) const PRINCIPAL_ID: &str = "X-MS-CLIENT-PRINCIPAL-ID";

pub(crate) async fn call_as(
    world: &World,
    user: Option<&str>,
    (method, path, body): (&str, &str, Option<Value>),
) -> Answer {
    let headers: Vec<_> = user.into_iter().map(|user| (PRINCIPAL_ID, user)).collect();
    world.call(method, path, &headers, body).await
}

#[tokio::test]
async fn each_function_is_for_the_callers_in_its_line() {
    checks::access_by_caller::<TestApp>().await;
}

#[tokio::test]
async fn a_missing_item_is_not_found_for_any_caller() {
    let (world, comment) = blog().await;
    for path in ["/api/posts/none", "/api/posts/p1/comments/none", "/api/posts/none/likes/eve"] {
        problem(&call_as(&world, Some("eve"), ("DELETE", path, None)).await, 404);
    }
    // The author of a post may not delete the comments of others.
    let path = format!("/api/posts/p1/comments/{comment}");
    problem(&call_as(&world, Some("ann"), ("DELETE", &path, None)).await, 403);
    // The condition of a caller without permission does not matter.
    let headers = [(PRINCIPAL_ID, "eve"), ("if-match", "\"another\"")];
    problem(&world.call("DELETE", "/api/posts/p1", &headers, None).await, 403);
    problem(&world.call("DELETE", &path, &headers, None).await, 403);
}

const LIKE: (&str, &str) = ("PUT", "/api/posts/p1/likes/ann");

#[tokio::test]
async fn users_of_two_providers_with_one_id_are_two_users() {
    let (world, _) = blog().await;
    let google = [(PRINCIPAL_ID, "ann"), ("X-MS-CLIENT-PRINCIPAL-IDP", "google")];
    problem(&world.call(LIKE.0, LIKE.1, &google, None).await, 403);
    let name = Some(json!({"username": "Ann of Google"}));
    let user = world.call("POST", "/api/users", &google, name).await.expect(201).json();
    assert_eq!(user["id"], "google.ann");
    world.call("PUT", "/api/posts/p1/likes/google.ann", &google, None).await.expect(201);
}

#[tokio::test]
async fn the_headers_are_ignored_without_the_mode() {
    let world = given::blog().await;
    for headers in [&[][..], &[(PRINCIPAL_ID, "bob")], &[("X-MS-CLIENT-PRINCIPAL", "%%%")]] {
        let answer = world.call(LIKE.0, LIKE.1, headers, None).await;
        assert!(answer.status.is_success(), "{}", answer.text);
    }
    let name = Some(json!({"username": "Cy"}));
    let user = world.call("POST", "/api/users", &[(PRINCIPAL_ID, "cy")], name).await;
    assert_ne!(user.expect(201).json()["id"], "cy");
}

async fn sign_up(world: &World, caller: &str, name: &str) -> Answer {
    let body = json!({"username": name});
    call_as(world, Some(caller), ("POST", "/api/users", Some(body))).await
}

#[tokio::test]
async fn a_second_sign_up_is_a_conflict_and_changes_nothing() {
    let (world, _) = blog().await;
    for username in ["Ann", "Another Ann"] {
        let answer = sign_up(&world, "ann", username).await;
        let problem = problem(&answer, 409);
        assert!(problem["detail"].as_str().unwrap().contains("already"), "{problem}");
    }
    assert_eq!(world.get("/api/users/ann").await.expect(200).json()["username"], "Ann");
    // The refused name is free.
    sign_up(&world, "cy", "Another Ann").await.expect(201);
}

#[tokio::test]
async fn a_sign_up_under_lost_answers_creates_one_user() {
    for lost in 1..=2 {
        let (world, _) = blog().await;
        world.endpoint.inject(Fault::AnswerLost, RequestKind::Create, "users", lost);
        let answer = sign_up(&world, "cy", "Cy").await;
        created(&world, &answer, "/api/users/cy").await;
    }
}
