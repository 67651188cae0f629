//! The sign-up of a signed-in caller as a user.

use futures::future::join_all;
use serde_json::json;
use tributary_local::cosmos::{Fault, RequestKind};

use super::blog;
use crate::{
    callers::call_as,
    expect::{created, problem},
    world::{Answer, World},
};

/// Ids as Microsoft Entra makes them.
const OBJECT_ID: &str = "0c1f5595-fcd9-48f5-b95b-0a4c3b91b22e";

async fn sign_up(world: &World, caller: &str, name: &str) -> Answer {
    let body = json!({"username": name});
    call_as(world, Some(caller), ("POST", "/api/users", Some(body))).await
}

#[tokio::test]
async fn a_signed_up_caller_is_the_user_with_the_principal_id() {
    let (world, _) = blog().await;
    let answer = sign_up(&world, OBJECT_ID, "Cy").await;
    let user = created(&world, &answer, &format!("/api/users/{OBJECT_ID}")).await;
    assert_eq!((&user["id"], &user["username"]), (&json!(OBJECT_ID), &json!("Cy")));
    let post = json!({"userId": OBJECT_ID, "title": "T", "content": "C"});
    let post = call_as(&world, Some(OBJECT_ID), ("POST", "/api/posts", Some(post))).await;
    assert_eq!(post.expect(201).json()["userUsername"], "Cy");
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
async fn a_taken_name_is_a_conflict_and_the_caller_is_no_user() {
    let (world, _) = blog().await;
    problem(&sign_up(&world, "cy", "ann").await, 409);
    problem(&world.get("/api/users/cy").await, 404);
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

#[tokio::test(flavor = "multi_thread")]
async fn of_many_sign_ups_of_one_caller_at_once_exactly_one_succeeds() {
    let (world, _) = blog().await;
    let sign_ups = (0..6).map(|k| {
        let world = world.clone();
        tokio::spawn(async move { sign_up(&world, "cy", &format!("Cy {k}")).await })
    });
    let answers: Vec<_> = join_all(sign_ups).await.into_iter().map(Result::unwrap).collect();
    let (new, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    assert_eq!(new.len(), 1);
    for answer in refused {
        problem(answer, 409);
    }
    assert_eq!(world.get("/api/users/cy").await.expect(200).json(), new[0].json());
}
